// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses the call sites of a plan, and which of them share memory: a group must earn its pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/advise/call_tree.hpp"
#include "cli/advise/features.hpp"
#include "cli/advise/observer.hpp"
#include "cli/advise/thresholds.hpp"

namespace ashlar::cli {

/// Call sites that share a pool or an arena.
struct site_group {
  std::uint64_t cell_bytes = 0;  ///< Of a pool; 0: an arena.
  bool dies_together = false;    ///< Its objects die in batches, or never.
  std::vector<std::uint32_t> nodes;
  std::uint64_t objects = 0;          ///< Allocations.
  std::uint64_t long_objects = 0;     ///< Of them those that outlive `plan.life` bytes of allocations.
  std::uint64_t peak_bytes = 0;       ///< Most live bytes of each site, added up.
  std::uint64_t excess_bytes = 0;     ///< Most bytes held beyond the live ones, by simulation.
  std::uint64_t left_bytes = 0;       ///< Live after the last birth of each trace.
  std::uint64_t left_held_bytes = 0;  ///< The chunks that these keep: by simulation of each site, and at most of all.
};

inline constexpr std::uint32_t most_routed_depth = 4;  ///< Frames of a chain: each costs each call.

/// A site that a group could serve, and that has none.
struct ungrouped_site {
  std::uint32_t node = 0;
  std::string obstacle;  ///< The end of a sentence.
};

struct site_groups {
  std::vector<site_group> groups;  ///< The one with the most live bytes first.
  std::vector<ungrouped_site> ungrouped;
};

/// Returns: the groups, and the sites without one though `plan_obstacle` has none, unless their chains are longer than
/// `most_routed_depth`. A site is one return address, or a longer chain where
/// the callers' objects have other lifetimes; its objects are long-lived. Sites with cells of one size that live alike
/// share a pool; sites of several sizes that die in batches share an arena. No site shares with one that it outlives,
/// or whose chunks few of its objects would keep.
[[nodiscard]] site_groups group_sites(const call_tree& tree, const site_observer& seen, const advice_limits& limits);

}  // namespace ashlar::cli
