// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds of A and B, and what follows from them: effects with intervals, A against itself, modes, one verdict. Before
// them A and B run once on each input: outputs to compare with, files in the page cache. And the options of an
// experiment, for the verbs that run one.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/rounds/effect.hpp"
#include "cli/rounds/player.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ashlar::cli {

struct experiment_plan {
  program_side a;
  program_side b;
  std::vector<std::string> inputs;  ///< One after the other; empty: none.
  std::size_t pairs = 0;            ///< An exact number; 0: set by the pilot.
  double seconds = 60;              ///< The budget if `pairs` is 0; the pilot is run in any case.
  double threshold = 0.01;          ///< A smaller share does not matter.
  double rare = 0.05;               ///< Slow runs of this share have to be met before A and B are level.
  run_measure decides = run_measure::cpu;
  double error = effect_error;  ///< The chance that an interval misses.
  bool spans = false;           ///< Preload a clock for spans.
  std::uint64_t seed = 0;
};

/// A is the first side.
struct experiment {
  program_rounds runs;
  program_run first = {};      ///< Of A.
  bool output_varies = false;  ///< Of A by itself: then outputs are not compared.
};

/// B does not do what A does: nothing to compare.
struct different_program : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Effects: runs the programs. Throws: `different_program` if B ends or prints otherwise; `std::runtime_error` if a
/// program cannot be started (by a shell: status 126 or 127), or A dies of a signal or does not end the same way
/// each time.
[[nodiscard]] experiment run_experiment(const experiment_plan& plan);

/// Returns: the pairs of all, by the deviation in these and the slow runs to be met; each input equally often.
[[nodiscard]] std::size_t pairs_after(const program_rounds& pilot, const experiment_plan& plan);

/// Of B against A: `verdict_of` what decides, and of the tails of spans. `incomplete`: spans were to be compared, and
/// were not, or in too few pairs to tell a loss of the tail.
enum class verdict { gain, level, loss, undecided, incomplete, unfit };

// Exit statuses beside the statuses of all verbs.
inline constexpr int exit_loss = 3;
inline constexpr int exit_undecided = 4;
inline constexpr int exit_unfit = 5;  ///< A differs from itself: no verdict from this machine.

/// The 99th percentile of a span, run by run, in nanoseconds.
struct span_effect {
  std::string name;
  comparison found;
};

struct verification {
  measure_comparisons measures;
  paired_effect itself;  ///< A against A, of the measure that decides.
  std::optional<two_modes> modes_a;
  std::optional<two_modes> modes_b;
  verdict decision = verdict::undecided;
  std::vector<span_effect> spans;          ///< That each run has.
  std::vector<std::string> missing_spans;  ///< The names of those of A that B lacks: in all runs, or in some while A
                                           ///< has them in all.
  std::vector<std::string> uneven_spans;   ///< The names of the others that some runs have, and some have not.
  std::size_t wanted = 0;                  ///< If undecided: pairs, of all, that would decide.
};

/// Returns: the conclusion, the same for the same runs and seed.
[[nodiscard]] verification conclude(const experiment& found, const experiment_plan& plan);

[[nodiscard]] int exit_status_of(verdict decision) noexcept;

/// Returns: "Gain: -14.6 % [-17.4, -11.4] processor time", or the pairs that would decide.
[[nodiscard]] std::string verdict_sentence(const verification& v, const experiment_plan& plan);
[[nodiscard]] std::string effect_table(const verification& v);
/// Returns: A against itself, modes, what is not measured; a line for each.
[[nodiscard]] std::vector<std::string> verify_notes(const verification& v, const experiment& found,
                                                    const experiment_plan& plan);
/// Returns: all of it, with every run.
[[nodiscard]] nlohmann::json verify_json(const verification& v, const experiment& found, const experiment_plan& plan);

struct experiment_options {
  std::string runs = "auto";
  std::string threshold = "1%";
  std::string metric = "cpu";
  std::string budget = "60s";
  std::string rare = "5%";
  std::uint64_t seed = 0;
  const CLI::Option* seed_option = nullptr;
  const CLI::Option* budget_option = nullptr;
  const CLI::Option* rare_option = nullptr;
};

/// Effects: adds --runs, --budget, --rare and those below, and refuses a budget beside a number of pairs.
void add_experiment_options(CLI::App& app, experiment_options& o);

/// Effects: adds --threshold, --metric and --seed.
void add_judging_options(CLI::App& app, experiment_options& o);

/// Effects: sets the members of `plan` that the parsed options name; a random seed if none is given.
void apply(const experiment_options& o, experiment_plan& plan);

}  // namespace ashlar::cli
