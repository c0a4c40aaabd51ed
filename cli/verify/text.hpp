// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A verification as a sentence, a table, notes, and JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/verify/verdict.hpp"

namespace ashlar::cli {

/// Returns: "B is better: 14.6 % less processor time [-17.4, -11.4]", or the pairs that would decide.
[[nodiscard]] std::string verdict_sentence(const verification& v, const experiment_plan& plan);
/// What runs twice in some rounds: "A" in pairs, "The program" in rounds of several remedies.
struct repeated_side {
  const char* name = "A";
  const char* unit = "pair";
  const char* option = "--runs";  ///< Of their number.
};

/// Returns: that the side differs from itself, and by how much.
[[nodiscard]] std::string unfit_text(const paired_effect& itself, run_measure decides, const repeated_side& side = {});
/// Returns: that the side does not differ from itself, or that the rounds are too few to tell.
[[nodiscard]] std::string itself_note(const paired_effect& itself, const repeated_side& side = {});
[[nodiscard]] std::string effect_table(const verification& v);
/// Returns: A against itself, modes, what is not measured; a line for each.
[[nodiscard]] std::vector<std::string> verify_notes(const verification& v, const experiment& runs,
                                                    const experiment_plan& plan);
/// Returns: all of it, with every run.
[[nodiscard]] nlohmann::json verify_json(const verification& v, const experiment& runs, const experiment_plan& plan);

/// Returns: "-14.6 % [-17.4, -11.4]".
[[nodiscard]] std::string change_text(const median_interval& ratio);
/// Returns: "2.4 %".
[[nodiscard]] std::string share_text(double share);
/// Returns: the share of `paired_effect::detectable`; "above 100 %" if only a multiple would be seen.
[[nodiscard]] std::string detectable_text(double detectable);
/// Returns: a value of the measure with its unit.
[[nodiscard]] std::string amount_text(double value, run_measure m);
[[nodiscard]] nlohmann::json effect_json(const paired_effect& effect);
/// Returns: a run by the keys of its measures.
[[nodiscard]] nlohmann::json figures_json(const run_figures& figures);

[[nodiscard]] const char* name_of(verdict decision) noexcept;
/// Returns: the amount that B takes: "less", "more", "equal" or "undecided".
[[nodiscard]] const char* word_of(finding f) noexcept;

}  // namespace ashlar::cli
