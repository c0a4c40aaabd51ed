// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a program as it is and as other sides have it, round by round.
//
// The order within a round is random, and so is the size of each run's environment: where stack and libraries lie in
// the caches is then noise, not a bias of one side.
#pragma once

#include <functional>
#include <initializer_list>

#include <ashlar/base/event.hpp>

#include "cli/replay/candidates.hpp"
#include "cli/rounds/effect.hpp"
#include "cli/rounds/program.hpp"
#include "cli/rounds/rounds.hpp"
#include "cli/routes/plan.hpp"

namespace ashlar::cli {

struct program_side {
  std::vector<std::string> command;
  std::string library = {};                                         ///< Preloaded; empty: none.
  std::vector<std::pair<std::string, std::string>> variables = {};  ///< Of the environment.
  std::string shown = {};                                           ///< As a user would type it.
};

/// Returns: the command with the malloc of a library in front. Expects: the candidate has a library.
[[nodiscard]] program_side under_library(const candidate& malloc, const std::vector<std::string>& command);

/// The same. Throws: `std::runtime_error`, with `use` of the program, if nothing can be preloaded into it.
[[nodiscard]] program_side checked_under_library(const candidate& malloc, const std::vector<std::string>& command,
                                                 const char* use);

/// Returns: the command by the plan of that file, as `ashlar run --plan` starts it. Throws: `std::runtime_error` for a
/// plan that the router cannot follow, and without the router's library.
[[nodiscard]] program_side under_routes(const route_plan& routes, const std::string& file,
                                        const std::vector<std::string>& command);

/// The mark in a command for the path of an input. In a command without it the input is the standard input.
inline constexpr const char* input_mark = "{}";

/// Returns: whether a word of the command holds the mark.
[[nodiscard]] bool takes_path(const program_side& side);

/// Returns: the command with `path`, unless it is empty, in place of each mark, quoted where a shell reads it.
[[nodiscard]] std::vector<std::string> command_on(const program_side& side, const std::string& path);

/// Returns: the files, and each folder's by name. Throws: `std::runtime_error` for no file, or an empty folder.
[[nodiscard]] std::vector<std::string> input_files(const std::vector<std::string>& paths);

/// Returns: the least value that 99 % of them do not exceed; 0 of none.
[[nodiscard]] double nearest_rank_99(std::vector<double> values);

enum class run_measure { cpu, user, system, wall, peak, after, faults };
inline constexpr std::array run_measures = {run_measure::cpu,   run_measure::user, run_measure::system,
                                            run_measure::wall,  run_measure::peak, run_measure::after,
                                            run_measure::faults};
static_assert(run_measures.size() == detail::enum_count<run_measure>);

struct run_measure_facts {
  const char* name;
  const char* plain;  ///< For everyone.
  const char* key;    ///< In JSON, with the unit.
  double floor;       ///< Of its scale.
};
[[nodiscard]] constexpr run_measure_facts facts_of(run_measure m) noexcept {
  constexpr detail::enum_table<run_measure, run_measure_facts> facts = {
      run_measure_facts{"processor time", "processor time", "cpu_ms", 0.01},
      run_measure_facts{"  user", "user time", "user_ms", 1},
      run_measure_facts{"  system", "system time", "system_ms", 1},
      run_measure_facts{"wall time", "wall time", "wall_ms", 0.01},
      run_measure_facts{"peak RSS", "memory", "peak_rss_bytes", 4096},
      run_measure_facts{"RSS after peak", "memory after the peak", "rss_after_peak_bytes", 4096},
      run_measure_facts{"page faults", "page faults", "page_faults", 1}};
  return facts[m];
}
[[nodiscard]] constexpr measure_scale scale_of(run_measure m, double threshold) noexcept {
  return {.floor = facts_of(m).floor, .threshold = threshold};
}

using run_figures = detail::enum_table<run_measure, double>;
using measure_comparisons = detail::enum_table<run_measure, comparison>;

[[nodiscard]] inline run_figures figures_of(const program_run& run) noexcept {
  return {run.cpu_ms, run.user_ms(), run.system_ms, run.wall_ms, run.peak_bytes, run.after_bytes, run.faults};
}

using span_tails = std::map<std::string, double>;

/// A run of each side, and in some rounds of one of them again.
struct program_round {
  std::size_t input = 0;
  std::string order = {};  ///< "bac": the second side ran first; the letter after the last side is the one again.
                           ///< From the 27th side on its number stands in parentheses.
  std::vector<run_figures> sides = {};
  std::vector<span_tails> spans = {};
  std::optional<run_figures> again = {};
};

struct program_rounds {
  std::vector<program_round> rounds = {};
  rounds_played played = {};

  /// Returns: the values of a side, round by round.
  [[nodiscard]] std::vector<double> values(std::size_t side, run_measure m) const;
};

/// Returns: side `b` against side `a`. Effects: draws from `random`.
[[nodiscard]] comparison compare(const program_rounds& rounds, std::size_t a, std::size_t b, run_measure m,
                                 double threshold, double error, random_engine& random);
[[nodiscard]] measure_comparisons compare_all(const program_rounds& rounds, std::size_t a, std::size_t b,
                                              double threshold, double error, random_engine& random);

/// The chance that an interval misses, as `effect_error`, for a side against itself: a fit machine is called unfit with
/// half of it. Experiments with less error have less of it, in proportion.
inline constexpr double itself_error = 0.02;

/// Returns: the effect of the side's second runs against its first ones, with the part of `itself_error` that `error`
/// is of `effect_error`. Effects: draws from `random`.
[[nodiscard]] paired_effect effect_of_itself(std::initializer_list<const program_rounds*> stages, run_measure m,
                                             double error, random_engine& random, std::size_t side = 0);

/// Returns: whether the side differs from itself, so that nothing follows from the other runs.
[[nodiscard]] bool is_unfit(const paired_effect& itself, double threshold);

/// Returns: the rounds, of all, that show equality of each of the sides with the first one with 80 %, from those
/// played. `error`: of the interval of each. Expects: more than 5.
[[nodiscard]] std::size_t planned_rounds(const program_rounds& pilot, const std::vector<std::size_t>& sides,
                                         run_measure m, double threshold, double error);

/// Returns: what a run does otherwise than the first one of the program as it is: "the program prints something else";
/// empty if it does the same. A run that is killed takes more than ten times as long.
[[nodiscard]] std::string difference_of(const program_run& run, const program_run& first);

class program_player {
public:
  /// `name`: of the program, for errors. No input is one without standard input. With spans their clock is preloaded.
  program_player(program_side as_it_is, std::string name, std::vector<std::string> inputs, std::uint64_t seed,
                 bool times_spans = false);

  /// Effects: a later run that takes longer is killed; 0: none is.
  void kill_after(double seconds) noexcept { most_seconds_ = seconds; }
  [[nodiscard]] double most_seconds() const noexcept { return most_seconds_; }

  /// Effects: runs the program as it is on each input, as which later runs have to do. Throws: `std::runtime_error` if
  /// it cannot be started (by a shell: status 126 or 127), or dies, unless it is killed for its time.
  void begin();
  [[nodiscard]] program_run run(const program_side& side, std::size_t input = 0);

  /// Called for each run, with the number of its side, or the number of sides for the one that is repeated.
  using run_check = std::function<void(const program_run& run, std::size_t side, std::size_t input)>;

  /// Effects: runs the sides that are not null on the input whose turn it is; in some rounds `repeated` once more.
  [[nodiscard]] program_round play(const std::vector<const program_side*>& sides, std::size_t number,
                                   const run_check& check, std::size_t repeated = 0);

  /// Returns: whether the run prints the same as the first one. Throws: `std::runtime_error` if it ends otherwise.
  [[nodiscard]] bool prints_the_same(const program_run& run, std::size_t input) const;

  /// Returns: " (on FILE)"; empty without an input.
  [[nodiscard]] std::string on_input(std::size_t input) const;
  [[nodiscard]] const program_side& as_it_is() const noexcept { return as_it_is_; }
  [[nodiscard]] const program_run& first(std::size_t input = 0) const noexcept { return first_[input]; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_.size(); }
  /// Returns: estimated seconds of a round with this number of sides, by all runs.
  [[nodiscard]] double seconds_of_round(std::size_t sides) const noexcept;
  /// Returns: the processes that the runs left behind, and that were killed.
  [[nodiscard]] std::size_t left_behind() const noexcept { return left_behind_; }
  [[nodiscard]] random_engine& random() noexcept { return random_; }

private:
  program_side as_it_is_;
  std::string name_;
  std::vector<std::string> inputs_;
  random_engine random_;
  std::string span_clock_;  // the library; empty: none
  std::vector<program_run> first_;
  double most_seconds_ = 0;  // of a run
  double seconds_ = 0;       // of all runs
  std::size_t runs_ = 0;
  std::size_t left_behind_ = 0;
};

}  // namespace ashlar::cli
