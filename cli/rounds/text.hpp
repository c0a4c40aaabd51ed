// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A comparison as text and as JSON, the same for all verbs. Changes are in percent, intervals in brackets.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/rounds/player.hpp"

namespace ashlar::cli {

/// Returns: "2.4 %".
[[nodiscard]] std::string share_text(double share);
/// Returns: "-14.6 %".
[[nodiscard]] std::string change_text(double log_ratio);
/// Returns: "-14.6 % [-17.4, -11.4]".
[[nodiscard]] std::string change_text(const mean_interval& log_ratio);
/// Returns: the same, without an interval in pairs that are too few to tell a difference.
[[nodiscard]] std::string change_text(const paired_effect& effect);
/// Returns: a value of the measure with its unit.
[[nodiscard]] std::string amount_text(double value, run_measure m);
/// Returns: "95 %", "98.3 %".
[[nodiscard]] std::string confidence_text(double error);

/// Returns: whether only a multiple would be seen, the runs vary so much.
[[nodiscard]] constexpr bool shows_multiples_alone(double detectable) noexcept { return detectable >= 1; }
/// Returns: "anything above 1.2 % would have been seen".
[[nodiscard]] std::string seen_text(double detectable);

/// Returns: "gain: -14.6 % [-17.4, -11.4]".
[[nodiscard]] std::string verdict_text(finding verdict, const mean_interval& log_ratio);
/// Returns: the same of rounds, or that they are too few.
[[nodiscard]] std::string verdict_text(const comparison& c);

/// A comparison and the name of its measure.
struct named_comparison {
  std::string name;
  const comparison* found;
  const char* plain = "";
};
[[nodiscard]] inline named_comparison named(run_measure m, const measure_comparisons& all) {
  return {facts_of(m).name, &all[m], facts_of(m).plain};
}
/// Returns: gains, then losses, then what is undecided if that is asked for: "-9.2 % [-9.9, -8.5] time; but +58.0 %
/// [+57.1, +58.9] peak RSS; undecided: ..."; empty without any.
[[nodiscard]] std::string findings_text(const std::vector<named_comparison>& all, bool tells_undecided);
/// Returns: gains and losses for everyone, then their intervals: "9.2 % less processor time; but 58 % more memory
/// (-9.2 % [-9.9, -8.5] processor time; but +58.0 % [+57.1, +58.9] peak RSS)".
[[nodiscard]] std::string plain_text(const std::vector<named_comparison>& all);
/// Returns: gains and losses behind another finding: "; but +58.0 % [+57.1, +58.9] peak RSS"; empty without any.
[[nodiscard]] std::string beside_text(const std::vector<named_comparison>& all);

/// Returns: "about 40 rounds (--budget 95s) would decide", or more than 1,000. `option`: empty if none helps.
[[nodiscard]] std::string wanted_text(std::size_t wanted, const char* unit, const std::string& option);
/// Returns: seconds for these rounds and for `before` them.
[[nodiscard]] double seconds_for(std::size_t wanted, const rounds_played& played, double before = 0);

/// What runs twice in some rounds: "A" in pairs, "The program" in rounds of several sides.
struct repeated_side {
  const char* name = "A";
  const char* unit = "pair";
  const char* option = "--runs";  ///< Of their number.
};
/// Returns: that the side differs from itself, and by how much.
[[nodiscard]] std::string unfit_text(const paired_effect& itself, run_measure decides, const repeated_side& side = {});
/// Returns: that the side does not differ from itself, or that the rounds are too few to tell.
[[nodiscard]] std::string itself_note(const paired_effect& itself, const repeated_side& side = {});

/// Returns: notes on the program as it is: its exit status, and that it takes little time.
[[nodiscard]] std::vector<std::string> program_notes(const program_run& first, double cpu_ms);

[[nodiscard]] nlohmann::json effect_json(const paired_effect& effect);
/// Returns: the effect, and "a", "b" and "verdict".
[[nodiscard]] nlohmann::json comparison_json(const comparison& c);
/// Returns: the comparisons by the keys of their measures.
[[nodiscard]] nlohmann::json comparisons_json(const measure_comparisons& all);
/// Returns: every run by the names of the sides, of which the last is the repeated one, in their order.
[[nodiscard]] nlohmann::json rounds_json(const program_rounds& all, const std::vector<std::string>& names);

}  // namespace ashlar::cli
