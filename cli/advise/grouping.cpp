// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks for long-lived objects from the innermost call on, and puts their sites together by size and lifetime.
#include "cli/advise/grouping.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "cli/advise/models.hpp"
#include "cli/advise/rules.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

namespace {

constexpr std::uint64_t least_site_objects = 64;
constexpr std::uint64_t least_group_objects = 1024;
constexpr std::size_t most_pool_sizes = 2;
constexpr std::uint64_t most_placed_bytes = 1024;  // of larger blocks few share a line or a page

std::uint64_t outlives_caches(const site_features& f) {
  return f.never_freed.objects + f.freed - f.lifetime_bytes.below(short_life_bytes);
}

/// The last objects of a batch die with it, though little has been allocated since their birth.
bool lives_long(const site_features& f, const advice_limits& limits) {
  const std::uint64_t bytes_a_batch = f.allocated.bytes / std::max<std::uint64_t>(f.batches.epochs, 1);
  return outlives_caches(f) * 20 >= f.allocated.objects * 17 ||
         (dies_together(f, limits) && bytes_a_batch >= least_site_bytes);
}

bool fits_pool(const site_features& f) {
  return f.sizes.distinct() <= most_pool_sizes && f.sizes.max() <= most_placed_bytes;
}

/// An arena keeps a chunk until its last block dies.
bool fits_arena(const site_features& f, const advice_limits& limits) {
  return (dies_together(f, limits) && f.arena.held_by_live() <= 1.3) || f.arena.held_by_live() <= 1.1;
}

constexpr const char* too_small = "its group would be too small for pages of its own";

}  // namespace

/// Blocks that realloc moves are left out, as it keeps them where they were born.
const char* group_obstacle(const site_features& f, const advice_limits& limits) {
  if (f.allocated.objects < least_site_objects) return "its objects are few";
  if (f.peak_bytes < least_site_bytes) return "less than 16 KiB of it is alive at once";
  if (f.resized * 2 > f.allocated.objects || 5 * f.growth.steps >= f.allocated.objects) return "its blocks grow";
  if (f.sizes.quantile(0.99) > most_placed_bytes) return "its blocks are above 1 KiB";
  if (f.alignment > 16) return "its blocks are aligned to more than 16 bytes";
  if (!lives_long(f, limits)) return "its objects die young";
  if (!fits_pool(f) && !fits_arena(f, limits)) return "its sizes would leave holes";
  return nullptr;
}

namespace {

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
  /// Returns: the node if its objects live long; else those of its callers whose objects do, if they are a quarter of
  /// the calls at least and worth a group, since all the others look for their callers too.
  std::vector<std::uint32_t> pick(std::uint32_t node, std::vector<ungrouped_site>& ungrouped) const {
    const site_features& f = seen_.of(node);
    if (f.peak_bytes < least_site_bytes || tree_.nodes()[node].depth > most_routed_depth) return {};
    if (group_obstacle(f, limits_) == nullptr) return {node};
    std::vector<std::uint32_t> parts;
    std::uint64_t objects = 0, bytes = 0;
    for (const std::uint32_t caller : callers_[node])
      for (const std::uint32_t part : pick(caller, ungrouped)) {
        parts.push_back(part);
        objects += seen_.of(part).allocated.objects;
        bytes += seen_.of(part).peak_bytes;
      }
    const bool is_enough = bytes >= least_group_bytes;
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

pool_model routed_pool(const site_features& f) { return pool_model::of(f.sizes.max(), f.peak_objects, 16); }

void add(site_group& group, std::uint32_t node, const site_features& f) {
  group.nodes.push_back(node);
  group.objects += f.allocated.objects;
  group.long_objects += outlives_caches(f);
  group.peak_bytes += f.peak_bytes;
  group.excess_bytes += group.cell_bytes != 0 ? routed_pool(f).held_bytes : f.arena.peak_excess_bytes();
}

}  // namespace

site_groups group_sites(const call_tree& tree, const site_observer& seen, const advice_limits& limits) {
  site_groups found;
  std::map<std::pair<std::uint64_t, bool>, site_group> by_kind;
  for (const std::uint32_t node : site_picker(tree, seen, limits).all(found.ungrouped)) {
    const site_features& f = seen.of(node);
    const std::uint64_t cell_bytes = fits_pool(f) ? routed_pool(f).cell_bytes : 0;
    site_group& group = by_kind[{cell_bytes, dies_together(f, limits)}];
    group.cell_bytes = cell_bytes;
    group.dies_together = dies_together(f, limits);
    add(group, node, f);
  }
  const auto leave = [&found](const site_group& group, const char* obstacle) {
    for (const std::uint32_t node : group.nodes) found.ungrouped.push_back({node, obstacle});
  };
  for (auto& [kind, group] : by_kind)
    if (group.peak_bytes >= least_group_bytes && group.objects >= least_group_objects)
      found.groups.push_back(std::move(group));
    else leave(group, too_small);
  std::ranges::stable_sort(found.groups, std::greater(), &site_group::peak_bytes);
  for (; found.groups.size() > most_groups; found.groups.pop_back())
    leave(found.groups.back(), "the plan is full of larger groups");
  return found;
}

}  // namespace ashlar::cli
