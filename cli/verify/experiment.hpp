// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runs of A and B in pairs.
//
//   warm up    A B of each input: outputs to compare with, files in the page cache; not counted
//   pilot      6 pairs, A twice in each; their deviation alone sets the number of pairs
//   the rest   A twice in every third
//
// The order within a pair is random, and so is the size of each run's environment: where stack and libraries lie in the
// caches is then noise, not a bias of one side.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/base/event.hpp>

#include "cli/rounds/effect.hpp"
#include "cli/rounds/program.hpp"
#include "cli/support/temporary_file.hpp"
#include "cli/verify/side.hpp"

namespace ashlar::cli {

/// Returns: the least value that 99 % of them do not exceed; 0 of none.
[[nodiscard]] inline double nearest_rank_99(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t rank = (values.size() * 99 + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

enum class run_measure { cpu, user, system, wall, peak, after, faults };
inline constexpr std::array run_measures = {run_measure::cpu,   run_measure::user, run_measure::system,
                                            run_measure::wall,  run_measure::peak, run_measure::after,
                                            run_measure::faults};
static_assert(run_measures.size() == detail::enum_count<run_measure>);

struct run_measure_facts {
  const char* name;
  const char* key;  ///< In JSON, with the unit.
  double floor;     ///< Values below it are raised to it in ratios: their clock does not resolve them.
};
[[nodiscard]] constexpr run_measure_facts facts_of(run_measure m) noexcept {
  constexpr detail::enum_table<run_measure, run_measure_facts> facts = {
      run_measure_facts{"processor time", "cpu_ms", 0.01},
      run_measure_facts{"  user", "user_ms", 1},
      run_measure_facts{"  system", "system_ms", 1},
      run_measure_facts{"wall time", "wall_ms", 0.01},
      run_measure_facts{"peak RSS", "peak_rss_bytes", 4096},
      run_measure_facts{"RSS after peak", "rss_after_peak_bytes", 4096},
      run_measure_facts{"page faults", "page_faults", 1}};
  return facts[m];
}

using run_figures = detail::enum_table<run_measure, double>;

[[nodiscard]] inline run_figures figures_of(const program_run& run) noexcept {
  return {run.cpu_ms, run.user_ms(), run.system_ms, run.wall_ms, run.peak_bytes, run.after_bytes, run.faults};
}
[[nodiscard]] inline double value_of(const run_figures& figures, run_measure m) noexcept { return figures[m]; }

inline constexpr const char* span_library = "libashlar-spans.so";

/// The 99th percentile of the durations of each span name in one run, in nanoseconds.
using span_tails = std::map<std::string, double>;

class span_recording {
public:
  /// Effects: makes the file that a program's span clock writes to. Throws: `std::runtime_error`.
  span_recording();

  /// Returns: the variable that leads the clock to the file.
  [[nodiscard]] std::pair<std::string, std::string> variable() const;
  /// Returns: the tails, after the run; of its first million spans. Throws: `std::runtime_error`.
  [[nodiscard]] span_tails tails() const;

private:
  temporary_file file_;
};

inline constexpr std::size_t pilot_pairs = 6;
inline constexpr std::size_t pairs_per_repeat = 3;  ///< After the pilot.

/// Returns: whether A runs twice in the pair of this number.
[[nodiscard]] constexpr bool repeats_a(std::size_t number) noexcept {
  return number < pilot_pairs || number % pairs_per_repeat == 0;
}

/// Returns: the fewest pairs in which A runs twice so often.
[[nodiscard]] constexpr std::size_t pairs_with_repeats(std::size_t repeats) noexcept {
  std::size_t pairs = 0;
  for (; repeats != 0; ++pairs) repeats -= repeats_a(pairs) ? 1U : 0U;
  return pairs;
}
static_assert(pairs_with_repeats(pilot_pairs) == pilot_pairs && pairs_with_repeats(pilot_pairs + 2) == pilot_pairs + 4);

struct experiment_plan {
  program_side a;
  program_side b;
  std::vector<std::string> inputs;  ///< One after the other; empty: none.
  std::size_t pairs = 0;            ///< An exact number; 0: set by the pilot.
  double seconds = 60;              ///< The budget if `pairs` is 0; the pilot is run in any case.
  double threshold = 0.01;          ///< A smaller share does not matter.
  run_measure decides = run_measure::cpu;
  double error = effect_error;  ///< The chance that an interval misses.
  bool spans = false;           ///< Preload a clock for spans.
  bool itself = true;           ///< Of an attribution: compare A with itself.
  std::uint64_t seed = 0;
};

struct run_pair {
  run_figures a{};
  run_figures b{};
  std::optional<run_figures> again;  ///< Of A, a second time.
  std::size_t input = 0;
  span_tails spans_a = {};
  span_tails spans_b = {};
  std::string order = {};  ///< "ba": B ran first; "a" again is "c".
};

struct experiment {
  std::vector<run_pair> pairs;
  std::size_t planned = 0;  ///< Pairs that the pilot asked for; more than there are if the budget was too small.
  double seconds = 0;
  int status = 0;              ///< The exit status of A, the same each time.
  bool output_varies = false;  ///< Of A by itself: then outputs are not compared.

  /// Returns: the values of A or of B, pair by pair.
  [[nodiscard]] std::vector<double> values(run_measure m, const run_figures run_pair::* of) const;
};

/// Returns: the side's library and variables, in an environment of random size.
[[nodiscard]] run_setting setting_of(const program_side& side, random_engine& random);

/// Effects: runs the side on the input, by its path or as standard input, in an environment of random size. Throws: as
/// `program_runner::run`.
[[nodiscard]] program_run run_side(const program_side& side, const std::string& input, random_engine& random);

/// Returns: what a run does otherwise than the first one of the program as it is: "the program prints something else";
/// empty if it does the same. A run that is killed takes more than ten times as long.
[[nodiscard]] std::string difference_of(const program_run& run, const program_run& first);

/// B does not do what A does: nothing to compare.
struct different_program : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using experiment_progress = std::function<void(std::size_t pair, std::size_t pairs)>;

/// Returns: "[pair 3 of 12]"; in the pilot the number of pairs is 0.
[[nodiscard]] std::string progress_text(std::size_t pair, std::size_t pairs);

/// Effects: runs the programs. Throws: `different_program` if B ends or prints otherwise; `std::runtime_error` if a
/// program cannot be started (by a shell: status 126 or 127), or A dies of a signal or does not end the same way
/// each time.
[[nodiscard]] experiment run_experiment(const experiment_plan& plan, const experiment_progress& progress);

}  // namespace ashlar::cli
