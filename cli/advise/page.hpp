// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice as a page to look at: `ashlar advise --html`.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/lane_history.hpp"
#include "cli/advise/live_history.hpp"

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

}  // namespace ashlar::cli
