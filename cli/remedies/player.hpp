// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a program as it is and under each of several remedies, round by round.
//
//   begin      the program as it is: what it prints, and how long it takes; not counted
//   repeat     once more, for it must print the same again
//   try_once   under a remedy: a first run, not counted, which fails or prints the same
//   play       a round: once as it is, once under each remedy, in random order; in the first six rounds and in every
//              third one it runs once more as it is
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/rounds/effect.hpp"
#include "cli/verify/experiment.hpp"

namespace ashlar::cli {

/// Every run of some rounds.
struct remedy_rounds {
  std::vector<std::vector<run_figures>> sides;             ///< Round by round; the first side is the program as it is.
  std::vector<std::string> failures;                       ///< Of the sides; one that failed has no further runs.
  std::vector<std::pair<run_figures, run_figures>> twice;  ///< As it is, and once more in the same round.
  std::size_t played = 0;
  std::size_t planned = 0;  ///< That the deviation in the first six asks for; 0: not known.
  double seconds = 0;

  [[nodiscard]] std::vector<double> values(std::size_t side, run_measure m) const;
};

struct play_limits {
  std::size_t rounds = 0;   ///< An exact number; 0: by the other members.
  double seconds = 0;       ///< No round begins that would exceed them, by the time of those before.
  double threshold = 0.01;  ///< Rounds end where a difference below it would be seen.
  run_measure decides = run_measure::cpu;
};

using round_progress = std::function<void(std::size_t round, std::size_t of)>;

class remedy_player {
public:
  remedy_player(program_side as_it_is, std::string input, std::uint64_t seed)
      : as_it_is_(std::move(as_it_is)), input_(std::move(input)), random_(seed) {}

  /// Effects: a later run that takes more than ten times as long, and more than 10 s, is killed. Throws:
  /// `std::runtime_error` if the program dies, cannot be started, or takes more than these seconds; 0: any number.
  void begin(double most_seconds);
  /// Throws: `std::runtime_error` if the program does not print or end the same each time, or takes far longer.
  void repeat() { static_cast<void>(run_as_it_is()); }

  /// Returns: the reason why the program does not do the same under the remedy; empty if it does.
  [[nodiscard]] std::string try_once(const program_side& side);

  /// Throws: as `repeat`.
  [[nodiscard]] remedy_rounds play(const std::vector<const program_side*>& remedies, const play_limits& limits,
                                   const round_progress& progress);

  /// Returns: estimated seconds of a round, by the last round or the first runs.
  [[nodiscard]] double seconds_of_round(std::size_t remedies) const noexcept;
  [[nodiscard]] const program_run& first() const noexcept { return first_; }
  /// Returns: the seconds after which a run is killed.
  [[nodiscard]] double most_seconds() const noexcept { return most_seconds_; }
  /// Returns: the processes that the runs left behind, and that were killed.
  [[nodiscard]] std::size_t left_behind() const noexcept { return left_behind_; }
  [[nodiscard]] random_engine& random() noexcept { return random_; }

private:
  [[nodiscard]] program_run run(program_side side);
  [[nodiscard]] program_run run_as_it_is();
  void play_round(const std::vector<const program_side*>& remedies, remedy_rounds& all);

  program_side as_it_is_;
  std::string input_;
  random_engine random_;
  program_run first_;
  double most_seconds_ = 0;  // of a run
  double seconds_ = 0;       // of all runs
  std::size_t runs_ = 0;
  std::size_t left_behind_ = 0;
};

}  // namespace ashlar::cli
