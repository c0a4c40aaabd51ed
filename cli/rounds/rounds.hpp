// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plays rounds until all questions are decided or a budget is spent, and bounds the error of repeated looks.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>

#include "cli/rounds/comparison.hpp"
#include "cli/rounds/interval.hpp"

namespace ashlar::cli {

/// The chance that any of the intervals of a run, over all its questions and looks, misses its median.
inline constexpr double family_error = 0.05;

struct round_limits {
  std::size_t rounds = 0;  ///< An exact number; 0: until decided.
  double seconds = 0;      ///< The budget if `rounds` is 0. Three rounds are played in any case.
};

struct rounds_played {
  std::size_t rounds = 0;
  double seconds = 0;
  double error = family_error;  ///< Of the interval of one question.
};

/// Returns: whether this number of rounds has an interval at all.
[[nodiscard]] inline bool has_intervals(const rounds_played& played) {
  return played.rounds >= least_rounds(played.error);
}

/// The moments to look at the rounds so far. Look i may err with half the probability of the one before, all looks
/// together with `family_error`, divided evenly among the questions (Bonferroni); each comes after twice the rounds of
/// the last.
class look_schedule {
public:
  explicit look_schedule(std::size_t questions)
      : error_(family_error / 2 / static_cast<double>(questions == 0 ? 1 : questions)), next_(least_rounds(error_)) {}

  [[nodiscard]] std::size_t next() const noexcept { return next_; }
  [[nodiscard]] double error() const noexcept { return error_; }
  void pass() noexcept {
    error_ /= 2;
    next_ *= 2;
  }

private:
  double error_;
  std::size_t next_;
};

/// Effects: calls `play(round)`, and at each look `decided(error)`, which returns whether to stop.
template <class Play, class Decided>
[[nodiscard]] rounds_played play_rounds(const round_limits& limits, std::size_t questions, Play play, Decided decided) {
  const auto start = std::chrono::steady_clock::now();
  rounds_played done;
  const auto play_one = [&] {
    play(done.rounds++);
    done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  if (limits.rounds != 0) {
    while (done.rounds < limits.rounds) play_one();
    done.error = family_error / static_cast<double>(questions == 0 ? 1 : questions);
    return done;
  }
  look_schedule looks(questions);
  const auto spent = [&] { return done.seconds * (1 + 1 / static_cast<double>(done.rounds)) > limits.seconds; };
  while (done.rounds < 3 || (!spent() && done.rounds < most_rounds)) {
    play_one();
    done.error = looks.error();
    if (done.rounds != looks.next()) continue;
    if (decided(done.error)) break;
    looks.pass();
  }
  return done;
}

}  // namespace ashlar::cli
