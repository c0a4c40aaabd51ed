// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the sites that a pool or an arena serves as a plan of routes.
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"

namespace ashlar::cli {

namespace {

constexpr std::uint64_t least_budget = std::uint64_t{1} << 20;

bool is_pool(const advised_site& s) {
  const site_features& f = *s.features;
  const bool has_cells = f.sizes.max() <= most_cell_bytes && f.alignment <= 16;
  switch (s.rule->proposes) {
    case remedy::pool:
    case remedy::keep_object:
    case remedy::hand_over: return has_cells && f.sizes.distinct() <= 4;
    case remedy::segregate: return has_cells && f.sizes.distinct() <= 4;
    default: return false;
  }
}

bool is_arena(const advised_site& s) {
  switch (s.rule->proposes) {
    case remedy::scratch:
    case remedy::arena:
    case remedy::counted_arena:
    case remedy::region: return true;
    case remedy::segregate: return !is_pool(s);
    default: return false;
  }
}

/// Returns: the most that the simulation held beyond the live blocks, and a quarter more.
std::uint64_t budget_of(std::uint64_t excess) { return std::max(least_budget, excess / 4 * 5); }

std::uint64_t pool_chunk(std::uint64_t cell_bytes) {
  return std::max(pool_model::slab_bytes, std::bit_ceil(cell_bytes * 2 * least_cells));
}

route_site site_of(const advised_site& s, const call_tree& tree) {
  route_site site;
  site.chain = chain_of(s, tree);
  site.function = s.request.place.function;
  if (s.request.place.line != 0) site.source = fmt::format("{}:{}", s.request.place.file, s.request.place.line);
  return site;
}

route_group group_of(const advised_site& s, const advice& a, const call_tree& tree) {
  const site_features& f = *s.features;
  route_group group;
  if (is_pool(s)) {
    const pool_model pool = pool_model::of(f.sizes.max(), f.peak_objects);
    group.remedy = route_remedy::pool;
    group.cell_bytes = pool.cell_bytes;
    group.chunk_bytes = pool_chunk(pool.cell_bytes);
    group.budget_bytes = budget_of(pool.held_bytes);  // it keeps the cells of the dead
  } else {
    group.remedy = route_remedy::arena;
    group.chunk_bytes = counted_arena_model::chunk_bytes;
    group.budget_bytes = budget_of(f.arena.peak_excess_bytes());
  }
  group.sites.push_back(site_of(s, tree));
  group.evidence = {{"rule", std::string(s.rule->name)},
                    {"why", s.evidence},
                    {"gain", gain_text(s, a)},
                    {"features", features_json(f)}};
  return group;
}

}  // namespace

std::vector<route_frame> chain_of(const advised_site& s, const call_tree& tree) {
  std::vector<route_frame> chain;
  const site_node& node = tree.nodes()[s.node];
  for (const std::uint64_t index : tree.frames(node.stack).first(node.depth)) {
    const site_frame& frame = tree.frame(index);
    chain.push_back({tree.modules()[frame.module].build_id, frame.offset});
  }
  return chain;
}

route_plan advice_plan(const advice& a, const call_tree& tree, std::vector<std::string>& left_out) {
  route_plan plan;
  plan.program = a.program;
  for (const advised_site& s : a.sites) {
    if (!is_pool(s) && !is_arena(s)) continue;
    if (s.features->resized * 2 > s.features->allocated.objects) {
      left_out.push_back(site_title(s, tree) + " is not in the plan: realloc keeps its blocks where they were born.");
      continue;
    }
    if (plan.groups.size() == most_groups) {
      left_out.push_back(fmt::format("The plan has the first {} sites; the others have lower bounds.", most_groups));
      break;
    }
    route_group group = group_of(s, a, tree);
    const auto& chain = group.sites.front().chain;
    if (std::ranges::any_of(chain, [](const route_frame& f) { return f.build_id.empty() || f.offset > most_offset; })) {
      left_out.push_back(site_title(s, tree) + " is not in the plan: its module has no build id.");
      continue;
    }
    group.name = fmt::format("{}-{}", plan.groups.size() + 1, name(s.rule->proposes));
    const site_node& node = tree.nodes()[s.node];
    for (const std::uint64_t index : tree.frames(node.stack).first(node.depth)) {
      const site_module& module = tree.modules()[tree.frame(index).module];
      plan.modules[module.build_id] = module.path;
    }
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

}  // namespace ashlar::cli
