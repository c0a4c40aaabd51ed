// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The number of rounds of an experiment.
//
//   pilot      6 rounds, in each of which the first side runs twice; their deviation alone sets the number of rounds
//   the rest   the first side twice in every third
//
// The effect is not looked at before the end, so no look errs.
#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cli/rounds/effect.hpp"
#include "cli/support/terminal.hpp"

namespace ashlar::cli {

inline constexpr std::size_t pilot_rounds = 6;
inline constexpr std::size_t rounds_per_repeat = 3;  ///< After the pilot.

/// Returns: whether the first side runs twice in the round of this number.
[[nodiscard]] constexpr bool repeats_first(std::size_t number) noexcept {
  return number < pilot_rounds || number % rounds_per_repeat == 0;
}

/// Returns: the fewest rounds in which the first side runs twice so often.
[[nodiscard]] constexpr std::size_t rounds_with_repeats(std::size_t repeats) noexcept {
  std::size_t rounds = 0;
  for (; repeats != 0; ++rounds) repeats -= repeats_first(rounds) ? 1U : 0U;
  return rounds;
}
static_assert(rounds_with_repeats(pilot_rounds) == pilot_rounds &&
              rounds_with_repeats(pilot_rounds + 2) == pilot_rounds + 4);

struct round_limits {
  std::size_t rounds = 0;            ///< An exact number; 0: by the other members.
  double seconds = 60;               ///< No round begins that would exceed them, by the time of those before.
  std::size_t least = pilot_rounds;  ///< Played in any case.
  std::size_t most = most_rounds;    ///< Played at most.
  double seconds_of_round = 0;       ///< Estimated, for the first.
  std::string title = {};            ///< Before "round 3 of 12 at most", on a terminal.
};

struct rounds_played {
  std::size_t rounds = 0;
  std::size_t planned = 0;  ///< Planned after the pilot; more than were played if the budget was too small; 0: unknown.
  double seconds = 0;

  [[nodiscard]] double seconds_of_round() const {
    return seconds / static_cast<double>(std::max<std::size_t>(rounds, 1));
  }
};

/// Effects: calls `play(number)` for each round, from 0, and `plan()` after the pilot, which returns the number
/// of rounds of all, or 0 for as many as the limits allow.
template <class Play, class Plan>
[[nodiscard]] rounds_played play_rounds(const round_limits& limits, Play play, Plan plan) {
  const stopwatch clock;
  rounds_played done{.planned = limits.rounds};
  const auto seconds_of_round = [&] { return done.rounds == 0 ? limits.seconds_of_round : done.seconds_of_round(); };
  const auto affordable = [&] {
    const double each = seconds_of_round();
    const auto most = static_cast<double>(limits.most);
    return std::max(limits.least, static_cast<std::size_t>(each > 0 ? std::min(limits.seconds / each, most) : most));
  };
  for (;;) {
    std::size_t most = limits.rounds != 0 ? limits.rounds : affordable();
    if (done.planned != 0) most = std::min(most, done.planned);
    if (done.rounds >= most) return done;
    const double left = seconds_of_round() * static_cast<double>(most - done.rounds);
    show_progress(fmt::format("{}round {} of {} at most", limits.title, done.rounds + 1, most), left);
    play(done.rounds++);
    done.seconds = clock.seconds();
    if (done.rounds == pilot_rounds && limits.rounds == 0) done.planned = plan();
  }
}

}  // namespace ashlar::cli
