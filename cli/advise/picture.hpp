// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice as a page to look at: `ashlar advise --html`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/lane_history.hpp"
#include "cli/advise/live_history.hpp"
#include "cli/html/advice_page.hpp"

namespace ashlar::cli {

/// The history of all traces of a page.
struct page_history {
  explicit page_history(std::size_t stacks) : live(stacks) {}

  live_history live;
  lane_history lanes;
  bool cut_short = false;  ///< A trace ends before its program.
};

/// Effects: the page has the groups of the plan, with their measured effects.
void add_plan(advice_page& page, const advice& a);

/// Returns: the page. Expects: `history.live` is finished.
[[nodiscard]] advice_page make_advice_page(const advice& a, const call_tree& tree, site_names& names,
                                           const page_history& history);

/// Returns: the program as it is, then a bar for each remedy that was measured in two rounds or more, in the colour of
/// a gain if that was found. Expects: the JSON of a measurement.
[[nodiscard]] std::vector<bar_row> measured_bars(const nlohmann::json& measurement);

/// Returns: for each stack the index of its site in `sites`; their number if it has none.
[[nodiscard]] std::vector<std::size_t> sites_of_stacks(const std::vector<advised_site>& sites, const call_tree& tree);

/// Returns: what is alive at the end of the traces, in sentences, and sets the words of `leftovers`.
[[nodiscard]] std::vector<std::string> ending_words(const advice& a, bool cut_short,
                                                    std::vector<page_leftover>& leftovers,
                                                    const std::vector<page_site>& sites);

}  // namespace ashlar::cli
