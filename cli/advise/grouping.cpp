// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks for long-lived objects from the innermost call on, puts their sites together by size and lifetime, and writes
// the groups as a plan of routes.
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "cli/advise/advice.hpp"
#include "cli/advise/models.hpp"
#include "cli/advise/rules.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* too_small = "its group would be too small for pages of its own";

class site_picker {
public:
  site_picker(const call_tree& tree, const site_observer& seen, const advice_limits& limits)
      : tree_(tree), seen_(seen), limits_(limits) {}

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
    for (const std::uint32_t caller : tree_.callers(node))
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
/// traces. The others' objects lie between the objects of a site, so that its chunk becomes several; each object keeps
/// one at most.
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
    if (group.cell_bytes != 0)  // no chunk that an arena's order of blocks would have needed
      group.left_held_bytes = std::min(group.left_held_bytes, group.excess_bytes * seen.program().traces);
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

namespace {

constexpr std::uint64_t least_budget = std::uint64_t{1} << 20;

/// Returns: the most that the simulation held beyond the live blocks, and a quarter more.
std::uint64_t budget_of(std::uint64_t excess) { return std::max(least_budget, excess / 4 * 5); }

std::uint64_t chunk_of(const site_group& group) {
  return std::max(pool_model::slab_bytes, std::bit_ceil(group.cell_bytes * 2 * least_cells));
}

std::vector<route_frame> chain_of(std::uint32_t number, const call_tree& tree) {
  std::vector<route_frame> chain;
  const site_node& node = tree.nodes()[number];
  for (const std::uint64_t index : tree.frames(node.stack).first(node.depth)) {
    const site_frame& frame = tree.frame(index);
    chain.push_back({tree.modules()[frame.module].build_id, frame.offset});
  }
  return chain;
}

/// Returns: why a plan cannot have the site; null: it can.
const char* obstacle_of(const site_node& node, const call_tree& tree, const frame_follower& follows) {
  if (!node.is_whole) return "a function that leads to it calls itself";
  const auto frames = tree.frames(node.stack).first(node.depth);
  for (std::size_t i = 0; i != frames.size(); ++i) {
    const site_frame& frame = tree.frame(frames[i]);
    const site_module& module = tree.modules()[frame.module];
    if (module.build_id.empty() || frame.offset > most_offset) return "its module has no build id";
    if (i + 1 != frames.size() && !follows(module.path, frame.offset))
      return "a function that leads to it has no frame of a fixed size";
  }
  return nullptr;
}

route_site site_of(std::uint32_t number, std::vector<route_frame> chain, const call_tree& tree, site_names& names) {
  route_site site;
  site.chain = std::move(chain);
  const source_place& place = names.request(tree.nodes()[number].stack, tree.nodes()[number].depth).place;
  site.function = place.function;
  if (place.line != 0) site.source = fmt::format("{}:{}", place.file, place.line);
  return site;
}

route_group without_sites(const site_group& from, const advice_limits& limits) {
  route_group group;
  group.remedy = from.cell_bytes != 0 ? route_remedy::pool : route_remedy::arena;
  group.cell_bytes = from.cell_bytes;
  group.chunk_bytes = chunk_of(from);
  group.budget_bytes = budget_of(from.excess_bytes);  // a pool keeps the cells of the dead
  group.evidence = {{"objects", from.objects},
                    {"long_lived_objects", from.long_objects},
                    {"peak_bytes", from.peak_bytes},
                    {"dies_together", from.dies_together},
                    {"live_bytes_after_peak", from.left_bytes},
                    {"held_bytes_after_peak", from.left_held_bytes}};
  if (const auto changed = changed_thresholds(limits); !changed.empty()) group.evidence["rules"] = changed;
  return group;
}

void add_modules(const site_node& node, const call_tree& tree, route_plan& plan) {
  for (const std::uint64_t index : tree.frames(node.stack).first(node.depth)) {
    const site_module& module = tree.modules()[tree.frame(index).module];
    plan.modules[module.build_id] = module.path;
  }
}

}  // namespace

std::vector<std::vector<route_frame>> chains_of(const advised_site& s, const call_tree& tree) {
  std::vector<std::vector<route_frame>> all;
  for (const std::uint32_t node : s.nodes()) all.push_back(chain_of(node, tree));
  return all;
}

route_plan advice_plan(advice& a, const call_tree& tree, const site_observer& seen, site_names& names,
                       const frame_follower& follows) {
  route_plan plan;
  plan.program = a.program;
  const site_groups found = group_sites(tree, seen, a.limits);
  a.ungrouped.insert(a.ungrouped.end(), found.ungrouped.begin(), found.ungrouped.end());
  for (const site_group& from : found.groups) {
    route_group group = without_sites(from, a.limits);
    for (const std::uint32_t number : from.nodes) {
      const site_node& node = tree.nodes()[number];
      if (const char* const obstacle = obstacle_of(node, tree, follows); obstacle != nullptr) {
        a.left_out.push_back({.node = number,
                              .text = fmt::format("{} is not in the plan: {}.",
                                                  names.request(node.stack, node.depth).place.str(), obstacle),
                              .obstacle = obstacle});
        continue;
      }
      add_modules(node, tree, plan);
      group.sites.push_back(site_of(number, chain_of(number, tree), tree, names));
    }
    if (group.sites.empty()) continue;
    group.name = fmt::format("{}-{}", plan.groups.size() + 1,
                             from.cell_bytes != 0 ? fmt::format("cells-of-{}", from.cell_bytes) : "blocks");
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

}  // namespace ashlar::cli
