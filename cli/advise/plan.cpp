// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the groups of long-lived call sites as a plan of routes.
#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/grouping.hpp"

namespace ashlar::cli {

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
  const source_place& place = names.request(tree.nodes()[number].stack).place;
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

std::vector<route_frame> chain_of(const advised_site& s, const call_tree& tree) { return chain_of(s.node, tree); }

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
        a.left_out.push_back(
            {.node = number,
             .text = fmt::format("{} is not in the plan: {}.", names.request(node.stack).place.str(), obstacle),
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
