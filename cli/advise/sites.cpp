// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Splits a candidate only where its callers get other verdicts, or does not reach the program's own code.
#include "cli/advise/sites.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace ashlar::cli {

namespace {

constexpr std::size_t named_sites = 64;

class chooser {
public:
  chooser(const call_tree& tree, const site_observer& seen, site_names& names, const advice_limits& limits)
      : tree_(tree), seen_(seen), names_(names), limits_(limits), best_stack_(tree.nodes().size()) {
    for (std::uint32_t stack = 1; stack <= tree.stack_count(); ++stack)
      for (const std::uint32_t node : tree.levels(stack))
        if (best_stack_[node] == 0 || seen.objects_of(stack) > seen.objects_of(best_stack_[node]))
          best_stack_[node] = stack;
  }

  [[nodiscard]] std::vector<advised_site> all() {
    std::vector<advised_site> sites;
    for (std::uint32_t node = 0; node < tree_.nodes().size(); ++node)
      if (tree_.nodes()[node].parent == site_node::none && seen_.of(node).allocated.objects != 0)
        std::ranges::move(split(node), std::back_inserter(sites));
    join_containers(sites, seen_.program(), limits_, [this](const advised_site& s, const std::string& function) {
      return is_on_stack(s.node, function);
    });
    join_shared_frees(sites, tree_, seen_, names_, [this](std::uint32_t node) { return owner_of(node); }, limits_);
    return sites;
  }

  /// Effects: counts the places in the program that reach each of the first sites.
  void count_places(std::vector<advised_site>& sites) {
    std::map<std::uint32_t, std::set<std::string>> places;
    for (std::size_t i = 0; i < std::min(sites.size(), named_sites); ++i) places[sites[i].node];
    for (std::uint32_t stack = 1; stack <= tree_.stack_count(); ++stack)
      for (const std::uint32_t node : tree_.levels(stack))
        if (const auto at = places.find(node); at != places.end() && seen_.objects_of(stack) != 0)
          at->second.insert(names_.request(stack).place.str());
    for (advised_site& site : sites)
      if (const auto at = places.find(site.node); at != places.end() && !at->second.empty())
        site.more_places = at->second.size() - 1;
  }

private:
  advised_site verdict(std::uint32_t node) {
    const site_features& f = seen_.of(node);
    advised_site site;
    site.node = node;
    site.features = &f;
    site.phases = seen_.phases_of(node);
    site.request = names_.request(best_stack_[node], tree_.nodes()[node].depth);
    site.caller = caller_of(node, site.request.place);
    if (!is_too_small(f, seen_.program(), limits_)) std::tie(site.owner, site.owner_share) = owner_of(node);
    const site_facts facts{f, seen_.program(), limits_, site.request, site.owner, site.owner_share, site.phases};
    rule_choice choice = choose_rule(facts);
    site.rule = choice.rule;
    site.evidence = std::move(choice.evidence);
    site.expected = choice.expected;
    site.refuted = std::move(choice.refuted);
    site.estimate = touched_ns(f, *site.rule, limits_);
    return site;
  }

  /// Returns: the place of the suffix's last frame, unless the request lies there or behind it.
  source_place caller_of(std::uint32_t node, const source_place& request) {
    const std::uint32_t depth = tree_.nodes()[node].depth;
    if (depth == 1) return {};
    const auto frames = tree_.frames(best_stack_[node]).first(depth);
    const auto has_request = [&](std::uint64_t frame) {
      return std::ranges::any_of(names_.places(frame), [&](const source_place& p) { return p.str() == request.str(); });
    };
    const auto at = std::ranges::find_if(frames, has_request);
    if (at == frames.end() || at + 1 == frames.end()) return {};
    const std::vector<source_place>& calls = names_.places(frames.back());
    const auto own = std::ranges::find_if_not(calls, is_library_place);
    return own == calls.end() ? calls.front() : *own;
  }

  /// The function that most deaths were under, as the birth was.
  std::pair<std::string, double> owner_of(std::uint32_t node) {
    const site_features& f = seen_.of(node);
    std::map<std::string, std::uint64_t> by_function;
    std::uint64_t all = f.without_owner;
    for (const frame_count& c : f.owners) {
      by_function[program_function(c.frame, node)] += c.objects;
      all += c.objects;
    }
    const auto most = std::max_element(by_function.begin(), by_function.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == by_function.end() || all == 0) return {};
    return {most->first, static_cast<double>(most->second) / static_cast<double>(all)};
  }

  /// Returns: the function around the frame, or of the first caller that is not the library's.
  std::string program_function(std::uint32_t frame, std::uint32_t node) {
    const auto frames = tree_.frames(best_stack_[node]);
    for (auto at = std::find(frames.begin(), frames.end(), frame); at != frames.end(); ++at) {
      const source_place& place = names_.places(*at).back();
      if (is_library_place(place)) continue;
      const bool is_first = at + 1 != frames.end() && names_.function_of(at[1]).starts_with("__libc_start");
      return is_first ? "main" : place.function;
    }
    return names_.function_of(frame);
  }

  /// A stack that `--stacks` cut may hide main, but no start of a thread stands behind it.
  bool is_on_stack(std::uint32_t node, const std::string& function) {
    const auto frames = tree_.frames(best_stack_[node]);
    const auto is_start = [&](std::uint64_t frame) { return names_.function_of(frame).starts_with("start_thread"); };
    if (function == "main") return std::ranges::none_of(frames, is_start);
    return std::ranges::any_of(frames, [&](std::uint64_t frame) {
      return std::ranges::any_of(names_.places(frame), [&](const source_place& p) { return p.function == function; });
    });
  }

  std::vector<advised_site> split(std::uint32_t node) {
    std::vector<advised_site> own = {verdict(node)};
    const bool is_behind = own.front().request.is_behind;
    if (tree_.callers(node).empty()) return own;
    if (!is_behind && is_too_small(seen_.of(node), seen_.program(), limits_)) return own;
    std::vector<advised_site> parts;
    for (const std::uint32_t caller : tree_.callers(node))
      if (seen_.of(caller).allocated.objects != 0) std::ranges::move(split(caller), std::back_inserter(parts));
    if (is_behind && !parts.empty()) return parts;
    const bool same = std::all_of(parts.begin(), parts.end(), [&](const advised_site& part) {
      return part.rule->proposes == own.front().rule->proposes || !counts(part, own.front());
    });
    return same ? own : parts;
  }

  /// Returns: whether a part's verdict may split the whole.
  [[nodiscard]] bool counts(const advised_site& part, const advised_site& whole) const {
    if (is_too_small(*part.features, seen_.program(), limits_)) return false;
    const study::amount &some = part.features->allocated, &all = whole.features->allocated;
    return some.objects * 20 >= all.objects || some.bytes * 20 >= all.bytes;
  }

  const call_tree& tree_;
  const site_observer& seen_;
  site_names& names_;
  const advice_limits& limits_;
  std::vector<std::uint32_t> best_stack_;
};

}  // namespace

std::vector<advised_site> choose_sites(const call_tree& tree, const site_observer& seen, site_names& names,
                                       const advice_limits& limits) {
  names.find_wrappers(seen);
  chooser choice(tree, seen, names, limits);
  std::vector<advised_site> sites = choice.all();
  const auto rank = [](const advised_site& s) {
    return std::tuple(s.rule->proposes == remedy::nothing, -s.estimate, s.node);
  };
  std::sort(sites.begin(), sites.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  choice.count_places(sites);
  return sites;
}

}  // namespace ashlar::cli
