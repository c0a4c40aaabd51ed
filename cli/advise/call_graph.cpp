// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joins the frames of all stacks by name from the outermost inwards, weighs them, and keeps the heaviest.
#include "cli/advise/advice.hpp"

#include <numeric>
#include <ranges>

#include "cli/support/function_names.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr const char* without_stack = "no call stack";

/// A function below all of its callers, with all of its lines.
struct graph_frame {
  std::uint32_t parent = 0;
  std::uint32_t name = 0;
  std::array<std::uint64_t, 4> sums{};  ///< Objects, bytes, temporary and never freed ones, with the sums of callees.
  std::int64_t live = 0;
  std::int64_t most_live = 0;
};

std::array<std::uint64_t, 4> sums_of(const stack_totals& t) {
  return {t.allocated.objects, t.allocated.bytes, t.temporary.objects, t.never_freed.bytes};
}

/// A call in the tree of calls, outermost first; a parent stands before its callees. Amounts are its own.
struct graph_call {
  std::uint32_t parent = 0;  ///< Of the root: itself.
  std::string name;
  stack_totals own = {};
};

class graph_builder {
public:
  graph_builder(const call_tree& tree, const live_history& history, site_names& names)
      : tree_(tree), history_(history), names_(names), leaf_(history.stack_count() + 1) {
    add_frames();
    weigh_live();
  }

  [[nodiscard]] json build() {
    calls_.push_back({.name = "all"});
    name_frames(kept_frames());
    for (std::uint32_t stack = 0; stack < leaf_.size(); ++stack) {
      const stack_totals& t = history_.of(stack);
      if (t.allocated.objects == 0) continue;
      stack_totals& own = calls_[call_of_stack(stack)].own;
      own.allocated += t.allocated;
      own.temporary += t.temporary;
      own.never_freed += t.never_freed;
    }
    add_changes();
    return to_json();
  }

private:
  [[nodiscard]] json to_json() const {
    json parents = json::array(), names = json::array(), amounts = json::array(), changes = json::array();
    for (const graph_call& c : calls_) {
      parents.push_back(c.parent);
      names.push_back(c.name);
      for (const study::amount& a : {c.own.allocated, c.own.temporary, c.own.never_freed})
        amounts.insert(amounts.end(), {a.objects, a.bytes});
    }
    for (const auto& bin : changes_) {
      json& flat = changes.emplace_back(json::array());
      for (const auto& [call, bytes] : bin) {
        flat.push_back(call);
        flat.push_back(bytes);
      }
    }
    return {{"parent", parents}, {"name", names}, {"amounts", amounts}, {"changes", changes}};
  }

  void add_frames() {
    std::unordered_map<std::uint64_t, std::uint32_t> children;  // by caller and name
    frames_.push_back({});
    for (std::uint32_t stack = 1; stack < leaf_.size(); ++stack) {
      const stack_totals& t = history_.of(stack);
      if (t.allocated.objects == 0) continue;
      std::uint32_t at = 0;
      for (const std::uint64_t frame : tree_.frames(stack) | std::views::reverse)
        for (const std::uint32_t name : names_of(frame) | std::views::reverse) {
          const auto [child, is_new] =
              children.try_emplace(std::uint64_t{at} << 32 | name, static_cast<std::uint32_t>(frames_.size()));
          if (is_new) frames_.push_back({.parent = at, .name = name});
          at = child->second;
        }
      leaf_[stack] = at;
      for_callers(at, [&](graph_frame& f) {
        for (std::size_t i = 0; i < f.sums.size(); ++i) f.sums[i] += sums_of(t)[i];
      });
    }
  }

  /// Returns: the functions of a frame, innermost first, by their index in `all_names_`.
  const std::vector<std::uint32_t>& names_of(std::uint64_t frame) {
    const auto [at, is_new] = names_of_.try_emplace(frame);
    if (!is_new) return at->second;
    for (const source_place& place : names_.places(frame)) {
      const std::string name = function_family(place.function);
      const auto [known, is_first] = index_of_name_.try_emplace(name, static_cast<std::uint32_t>(all_names_.size()));
      if (is_first) all_names_.push_back(name);
      at->second.push_back(known->second);
    }
    return at->second;
  }

  /// Effects: calls `f` for the frame, its callers and the root.
  template <class F>
  void for_callers(std::uint32_t at, F&& f) {
    for (;; at = frames_[at].parent) {
      f(frames_[at]);
      if (at == 0) return;
    }
  }

  void weigh_live() {
    for (const live_history::bin& bin : history_.bins())
      for (const live_history::change& c : bin.changes)
        for_callers(leaf_[c.stack], [&](graph_frame& f) {
          f.live += c.bytes;
          f.most_live = std::max(f.most_live, f.live);
        });
  }

  /// Returns: the greatest share of the frame in any measure. A caller's is no less.
  [[nodiscard]] double weight(const graph_frame& f) const {
    double most = share(static_cast<double>(f.most_live), static_cast<double>(frames_[0].most_live));
    for (std::size_t i = 0; i < f.sums.size(); ++i)
      most = std::max(most, share(static_cast<double>(f.sums[i]), static_cast<double>(frames_[0].sums[i])));
    return most;
  }

  static double share(double part, double whole) { return whole <= 0 ? 0 : part / whole; }

  /// Returns: whether each frame is among the heaviest; a kept frame's callers are kept.
  [[nodiscard]] std::vector<bool> kept_frames() const {
    std::vector<std::uint32_t> order(frames_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<double> weights;
    for (const graph_frame& f : frames_) weights.push_back(weight(f));
    const std::size_t most = std::min(order.size(), most_graph_frames);
    const auto is_heavier = [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(-weights[a], a) < std::pair(-weights[b], b);
    };
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), is_heavier);
    std::vector<bool> kept(frames_.size());
    for (std::size_t i = 0; i < most; ++i) kept[order[i]] = true;
    return kept;
  }

  /// Returns: the callee of that name, a new one if there is none. The empty name stands for all calls left out.
  std::uint32_t callee(std::uint32_t caller, const std::string& name) {
    const auto [at, is_new] = by_name_.try_emplace({caller, name}, static_cast<std::uint32_t>(calls_.size()));
    if (is_new) calls_.push_back({.parent = caller, .name = name});
    return at->second;
  }

  void name_frames(const std::vector<bool>& kept) {
    call_of_.assign(frames_.size(), 0);
    for (std::uint32_t i = 1; i < frames_.size(); ++i) {
      const std::uint32_t parent = frames_[i].parent, caller = call_of_[parent];
      call_of_[i] = kept[i] ? callee(caller, all_names_[frames_[i].name]) : kept[parent] ? callee(caller, "") : caller;
    }
  }

  std::uint32_t call_of_stack(std::uint32_t stack) {
    return stack == 0 ? callee(0, without_stack) : call_of_[leaf_[stack]];
  }

  /// Effects: fills the changes by call. Calls whose live bytes never reach a share of the most are joined; the share
  /// doubles until the changes are few enough.
  void add_changes() {
    const std::vector<std::int64_t> most = most_live_of_calls();
    std::int64_t least = 0;
    while (!fill_changes(most, least)) least = std::max(2 * least, most[0] / 4096 + 1);
  }

  [[nodiscard]] std::vector<std::int64_t> most_live_of_calls() {
    std::vector<std::int64_t> live(calls_.size()), most(calls_.size());
    for (const live_history::bin& bin : history_.bins())
      for (const live_history::change& c : bin.changes)
        for (std::uint32_t at = call_of_stack(c.stack);; at = calls_[at].parent) {
          most[at] = std::max(most[at], live[at] += c.bytes);
          if (at == 0) break;
        }
    return most;
  }

  /// Returns: whether the changes are few enough, or cannot be fewer.
  bool fill_changes(const std::vector<std::int64_t>& most, std::int64_t least) {
    changes_.clear();
    std::size_t count = 0;
    for (const live_history::bin& bin : history_.bins()) {
      std::map<std::uint32_t, std::int64_t> sums;
      for (const live_history::change& c : bin.changes) sums[shown_call(c.stack, most, least)] += c.bytes;
      std::erase_if(sums, [](const auto& sum) { return sum.second == 0; });
      count += sums.size();
      changes_.push_back(std::move(sums));
      if (count > most_graph_changes && least < most[0]) return false;
    }
    return true;
  }

  /// Returns: the call that shows a stack's live bytes: its own, or the unnamed callee of the first caller with `least`
  /// bytes.
  std::uint32_t shown_call(std::uint32_t stack, const std::vector<std::int64_t>& most, std::int64_t least) {
    const std::uint32_t own = call_of_stack(stack);
    std::uint32_t at = own;
    while (at != 0 && most[at] < least) at = calls_[at].parent;
    return at == own ? own : callee(at, "");
  }

  const call_tree& tree_;
  const live_history& history_;
  site_names& names_;
  std::vector<graph_frame> frames_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> names_of_;  // by frame of the tree
  std::unordered_map<std::string, std::uint32_t> index_of_name_;
  std::vector<std::string> all_names_;
  std::vector<std::uint32_t> leaf_;     // by stack
  std::vector<std::uint32_t> call_of_;  // by frame
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> by_name_;
  std::vector<graph_call> calls_;                               // the first is the root
  std::vector<std::map<std::uint32_t, std::int64_t>> changes_;  // of each bin: bytes more than in the bin before
};

}  // namespace

nlohmann::json call_graph(const call_tree& tree, const live_history& history, site_names& names) {
  return graph_builder(tree, history, names).build();
}

}  // namespace ashlar::cli
