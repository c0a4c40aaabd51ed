// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call stacks as a tree of named calls for a flame graph, without the calls too small to be seen.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "cli/advise/call_tree.hpp"
#include "cli/advise/live_history.hpp"
#include "cli/advise/names.hpp"

namespace ashlar::cli {

inline constexpr std::size_t most_graph_frames = 2000;
inline constexpr std::size_t most_graph_changes = 12'000;

/// Returns: the tree, for the page: of each call its caller, its name and its amounts, and of each bin of the timeline
/// the calls whose live bytes change, and by how much. All calls of one function by the same callers are one. The calls
/// that are least in every measure are counted as one unnamed call of their caller, so that sums stay exact; so are
/// those with the least live bytes, until the changes over time are no more than `most_graph_changes`. Complexity:
/// O(frames of all stacks + changes * depth), and all names.
[[nodiscard]] nlohmann::json call_graph(const call_tree& tree, const live_history& history, site_names& names);

}  // namespace ashlar::cli
