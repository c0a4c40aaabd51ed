// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks for long-lived objects from the innermost call on, and puts their sites together by size and lifetime.
#include "cli/advise/grouping.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "cli/advise/models.hpp"
#include "cli/advise/rules.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* too_small = "its group would be too small for pages of its own";

class site_picker {
public:
  site_picker(const call_tree& tree, const site_observer& seen, const advice_limits& limits)
      : tree_(tree), seen_(seen), limits_(limits), callers_(tree.nodes().size()) {
    for (std::uint32_t node = 0; node < tree.nodes().size(); ++node)
      if (const std::uint32_t parent = tree.nodes()[node].parent; parent != site_node::none)
        callers_[parent].push_back(node);
  }

  /// Effects: adds to `ungrouped` what was found below a call, and is not worth its routes.
  [[nodiscard]] std::vector<std::uint32_t> all(std::vector<ungrouped_site>& ungrouped) const {
    std::vector<std::uint32_t> picked;
    for (std::uint32_t node = 0; node < tree_.nodes().size(); ++node)
      if (tree_.nodes()[node].parent == site_node::none)
        std::ranges::move(pick(node, ungrouped), std::back_inserter(picked));
    return picked;
  }

private:
  /// Returns: the node if its objects live long; else the nodes of its callers whose objects do, if they are a quarter
  /// of the calls at least and worth a group, since all the others look for their callers too.
  std::vector<std::uint32_t> pick(std::uint32_t node, std::vector<ungrouped_site>& ungrouped) const {
    const site_features& f = seen_.of(node);
    if (static_cast<double>(f.peak_bytes) < limits_["plan.bytes"] || tree_.nodes()[node].depth > most_routed_depth)
      return {};
    if (plan_obstacle(f, limits_).empty()) return {node};
    std::vector<std::uint32_t> parts;
    std::uint64_t objects = 0, bytes = 0;
    for (const std::uint32_t caller : callers_[node])
      for (const std::uint32_t part : pick(caller, ungrouped)) {
        parts.push_back(part);
        objects += seen_.of(part).allocated.objects;
        bytes += seen_.of(part).peak_bytes;
      }
    const bool is_enough = static_cast<double>(bytes) >= limits_["plan.group_bytes"];
    if (is_enough && objects * 4 >= f.allocated.objects) return parts;
    for (const std::uint32_t part : parts)
      ungrouped.push_back(
          {part, is_enough ? "a group could serve less than a quarter of its call's objects" : too_small});
    return {};
  }

  const call_tree& tree_;
  const site_observer& seen_;
  const advice_limits& limits_;
  std::vector<std::vector<std::uint32_t>> callers_;
};

/// Sites of one kind may share pages: none outlives the deaths of another, whose pages it would keep.
struct site_kind {
  std::uint64_t cell_bytes = 0;
  bool dies_together = false;
  int survives = 0;       ///< The last births of the trace: no object, some, or half of all at least.
  int stays = 0;          ///< To the end of the trace, likewise.
  int batches = 0;        ///< Of a trace, by powers of four: sites with another number outlive each other.
  double last_death = 0;  ///< Of the only batch of a trace, as a share of its births.
  double live_bytes = 0;  ///< Of the program, at the mean death of the only batch.
};

/// Times count births, and the bytes of a program that dies without a birth.
bool are_alike(const site_kind& a, const site_kind& b) {
  constexpr double same_death = 0.125, same_bytes = 4;
  return a.cell_bytes == b.cell_bytes && a.dies_together == b.dies_together && a.survives == b.survives &&
         a.stays == b.stays && a.batches == b.batches && std::abs(a.last_death - b.last_death) <= same_death &&
         a.live_bytes <= same_bytes * b.live_bytes && b.live_bytes <= same_bytes * a.live_bytes;
}

/// Returns: 0, 1 or 2 for none, some, or half of all. Some of a batch that is not over, after others, may die yet.
int share_left(std::uint64_t left, const site_features& f) {
  if (left * 2 >= f.allocated.objects) return 2;
  return f.at_last_birth.epochs == 0 && left * 16 >= f.allocated.objects ? 1 : 0;
}

pool_model routed_pool(const site_features& f) { return pool_model::of(f.sizes.max(), f.peak_objects, 16); }

void add(site_group& group, std::uint32_t node, const site_features& f, const advice_limits& limits) {
  group.nodes.push_back(node);
  group.objects += f.allocated.objects;
  group.long_objects += outlive(f, limits["plan.life"]);
  group.peak_bytes += f.peak_bytes;
  group.left_bytes += f.at_last_birth.live.bytes;
  group.excess_bytes += group.cell_bytes != 0 ? routed_pool(f).held_bytes : f.arena.peak_excess_bytes();
}

site_kind kind_of(const site_features& f, std::uint64_t traces, const advice_limits& limits) {
  site_kind kind{.cell_bytes = fits_routed_pool(f, limits) ? routed_pool(f).cell_bytes : 0,
                 .dies_together = dies_together(f, limits),
                 .survives = share_left(f.at_last_birth.live.objects, f),
                 .stays = share_left(f.never_freed.objects, f)};
  const std::uint64_t batches = std::max<std::uint64_t>(f.batches.epochs / traces, 1);
  if (kind.stays != 0 || !kind.dies_together) return kind;
  if (batches == 1) kind.live_bytes = f.live_at_deaths / static_cast<double>(std::max<std::uint64_t>(f.freed, 1));
  if (kind.survives != 0) return kind;
  kind.batches = static_cast<int>(std::bit_width(batches)) / 2;
  if (batches == 1) kind.last_death = f.death_shares / static_cast<double>(traces);
  return kind;
}

using site_nodes = std::vector<std::uint32_t>;

/// Returns: the bytes of the most chunks of the sites, if they share an arena.
std::uint64_t shared_peak_bytes(const site_nodes& nodes, const site_observer& seen) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t node : nodes) bytes += seen.of(node).arena.peak_held_bytes();
  return bytes;
}

/// Returns: the bytes of the chunks that are kept after the last birth if the sites share an arena, summed over the
/// traces. The others' objects lie between those of a site, so that its chunk becomes several; each object keeps one at
/// most.
std::uint64_t shared_left_bytes(const site_nodes& nodes, const site_observer& seen) {
  const auto all = static_cast<double>(shared_peak_bytes(nodes, seen));
  double kept = 0;
  for (const std::uint32_t node : nodes) {
    const site_ending& left = seen.of(node).at_last_birth;
    if (left.arena_bytes == 0) continue;
    const auto alone = static_cast<double>(left.arena_bytes);
    const double shared = alone * all / static_cast<double>(seen.of(node).arena.peak_held_bytes());
    const auto one_each = static_cast<double>(left.live.objects * counted_arena_model::chunk_bytes);
    kept += std::max(alone, std::min(shared, one_each));
  }
  return static_cast<std::uint64_t>(std::min(kept, all * static_cast<double>(seen.program().traces)));
}

/// Returns: whether a sixteenth of the group's chunks would be kept because a site shares them. What is left of a batch
/// that is not over, after others, may die yet.
bool would_pin(const site_group& group, std::uint32_t node, const site_observer& seen) {
  if (seen.of(node).at_last_birth.epochs != 0) return false;
  site_nodes all = group.nodes;
  all.push_back(node);
  const std::uint64_t apart = shared_left_bytes(group.nodes, seen) + shared_left_bytes({node}, seen);
  return shared_left_bytes(all, seen) >= apart + shared_peak_bytes(all, seen) * seen.program().traces / 16;
}

/// Returns: the group of the kind that the site may join, or a new one.
site_group& group_of(const site_kind& kind, std::uint32_t node, const site_observer& seen,
                     std::vector<std::pair<site_kind, site_group>>& groups) {
  const auto found = std::ranges::find_if(
      groups, [&](const auto& each) { return are_alike(each.first, kind) && !would_pin(each.second, node, seen); });
  if (found != groups.end()) return found->second;
  site_group& added = groups.emplace_back(kind, site_group()).second;
  added.cell_bytes = kind.cell_bytes;
  added.dies_together = kind.dies_together;
  return added;
}

}  // namespace

site_groups group_sites(const call_tree& tree, const site_observer& seen, const advice_limits& limits) {
  site_groups found;
  std::vector<std::pair<site_kind, site_group>> by_kind;
  for (const std::uint32_t node : site_picker(tree, seen, limits).all(found.ungrouped)) {
    const site_kind kind = kind_of(seen.of(node), std::max<std::uint64_t>(seen.program().traces, 1), limits);
    add(group_of(kind, node, seen, by_kind), node, seen.of(node), limits);
  }
  const auto leave = [&found](const site_group& group, const char* obstacle) {
    for (const std::uint32_t node : group.nodes) found.ungrouped.push_back({node, obstacle});
  };
  for (auto& [kind, group] : by_kind) {
    group.left_held_bytes = shared_left_bytes(group.nodes, seen);
    if (static_cast<double>(group.peak_bytes) >= limits["plan.group_bytes"] &&
        static_cast<double>(group.objects) >= limits["plan.group_objects"])
      found.groups.push_back(std::move(group));
    else leave(group, too_small);
  }
  std::ranges::stable_sort(found.groups, std::greater(), &site_group::peak_bytes);
  for (; found.groups.size() > most_groups; found.groups.pop_back())
    leave(found.groups.back(), "the plan is full of larger groups");
  return found;
}

}  // namespace ashlar::cli
