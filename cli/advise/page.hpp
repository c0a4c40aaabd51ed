// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice as a page to look at: `ashlar advise --html`.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/history.hpp"

namespace ashlar::cli {

/// The history of all traces of a page.
struct page_history {
  explicit page_history(std::size_t stacks) : live(stacks) {}

  live_history live;
  lane_history lanes;
  bool cut_short = false;  ///< A trace ends before its program.
};

/// Effects: the page has the groups of the plan, with their measured effects.
void add_plan(nlohmann::json& page, const advice& a);

/// Returns: the page, for `html_advice`. Expects: `history.live` is finished.
[[nodiscard]] nlohmann::json make_advice_page(const advice& a, const call_tree& tree, site_names& names,
                                              const page_history& history);

/// Returns: the program as it is, then a bar for each remedy that was measured in two rounds or more, in the colour of
/// a gain if that was found. Expects: the JSON of a measurement.
[[nodiscard]] nlohmann::json measured_bars(const nlohmann::json& measurement);

inline constexpr std::size_t most_graph_frames = 2000;
inline constexpr std::size_t most_graph_changes = 12'000;

/// Returns: the tree, for the page: of each call its caller, its name and its amounts, and of each bin of the timeline
/// the calls whose live bytes change, and by how much. All calls of one function by the same callers are one. The calls
/// that are least in every measure are counted as one unnamed call of their caller, so that sums stay exact; so are
/// those with the least live bytes, until the changes over time are no more than `most_graph_changes`. Complexity:
/// O(frames of all stacks + changes * depth), and all names.
[[nodiscard]] nlohmann::json call_graph(const call_tree& tree, const live_history& history, site_names& names);

}  // namespace ashlar::cli
