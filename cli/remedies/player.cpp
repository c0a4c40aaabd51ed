// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interleaves the runs, and compares each with the first.
#include "cli/remedies/player.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

constexpr double least_limit = 10;  // seconds, so that a short run may be disturbed

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

/// Returns: the rounds that the side with the greatest deviation needs.
std::size_t rounds_by_pilot(const remedy_rounds& pilot, const play_limits& limits) {
  std::size_t wanted = least_pairs;
  for (std::size_t side = 1; side < pilot.sides.size(); ++side) {
    if (!pilot.failures[side].empty()) continue;
    const std::vector<double> ratios =
        log_ratios(pilot.values(0, limits.decides), pilot.values(side, limits.decides), facts_of(limits.decides).floor);
    wanted = std::max(wanted, planned_pairs(deviation_of(ratios), pilot_pairs, limits.threshold));
  }
  return wanted;
}

}  // namespace

std::vector<double> remedy_rounds::values(std::size_t side, run_measure m) const {
  std::vector<double> all;
  for (const run_figures& figures : sides[side]) all.push_back(value_of(figures, m));
  return all;
}

program_run remedy_player::run(program_side side) {
  side.most_seconds = most_seconds_;
  const auto start = clock::now();
  program_run done = run_side(side, input_, random_);
  seconds_ += seconds_since(start);
  ++runs_;
  left_behind_ += done.left_behind;
  return done;
}

program_run remedy_player::run_as_it_is() {
  program_run done = run(as_it_is_);
  const std::string& program = as_it_is_.command.front();
  if (done.killed)
    throw std::runtime_error(fmt::format("{} does not take the same time each time: {:.2g} s at first, now more than "
                                         "{:.2g} s; nothing was measured",
                                         program, first_.wall_ms / 1e3, most_seconds_));
  if (done.status != first_.status)
    throw std::runtime_error(
        fmt::format("{} does not end the same way each time: it {}; nothing was measured", program, ending_of(done)));
  if (!done.same_output(first_))
    throw std::runtime_error(program +
                             " does not print the same each time, so that nothing shows whether a remedy "
                             "changes its work; nothing was measured ('ashlar verify' compares such a program)");
  return done;
}

void remedy_player::begin(double most_seconds) {
  most_seconds_ = most_seconds;
  first_ = run(as_it_is_);
  most_seconds_ = std::max(least_limit, 10 * first_.wall_ms / 1e3);
  if (first_.killed)
    throw std::runtime_error(
        fmt::format("one run of {} takes more than the budget of {:.0f} s, and a verdict needs some hundred: give a "
                    "larger --budget or a smaller input; nothing was measured",
                    as_it_is_.command.front(), most_seconds));
  if (first_.status >= exit_not_executable)
    throw std::runtime_error(as_it_is_.command.front() + " " + ending_of(first_) + "; nothing was measured");
}

std::string remedy_player::try_once(const program_side& side) { return difference_of(run(side), first_); }

double remedy_player::seconds_of_round(std::size_t remedies) const noexcept {
  const double of_run = runs_ == 0 ? 0 : seconds_ / static_cast<double>(runs_);
  return of_run * (static_cast<double>(remedies) + 1 + 1.0 / pairs_per_repeat);
}

void remedy_player::play_round(const std::vector<const program_side*>& remedies, remedy_rounds& all) {
  const bool repeats = repeats_a(all.played);
  const std::size_t again = remedies.size() + 1;
  std::vector<std::size_t> sides(repeats ? again + 1 : again);
  std::iota(sides.begin(), sides.end(), std::size_t{0});
  run_figures own{}, own_again{};
  for (const std::size_t side : shuffled(std::move(sides), random_)) {
    if (side == 0) own = figures_of(run_as_it_is());
    if (side == again) own_again = figures_of(run_as_it_is());
    if (side == 0 || side == again || !all.failures[side].empty()) continue;
    const program_run done = run(*remedies[side - 1]);
    all.failures[side] = difference_of(done, first_);
    all.sides[side].push_back(figures_of(done));
  }
  all.sides[0].push_back(own);
  if (repeats) all.twice.emplace_back(own, own_again);
  ++all.played;
}

remedy_rounds remedy_player::play(const std::vector<const program_side*>& remedies, const play_limits& limits,
                                  const round_progress& progress) {
  remedy_rounds all;
  all.sides.resize(remedies.size() + 1);
  all.failures.resize(remedies.size() + 1);
  const auto start = clock::now();
  const auto affordable = [&] {
    if (limits.rounds != 0) return limits.rounds;
    const double each =
        all.played == 0 ? seconds_of_round(remedies.size()) : all.seconds / static_cast<double>(all.played);
    return static_cast<std::size_t>(std::clamp(limits.seconds / each, 0.0, 1e6));
  };
  all.planned = limits.rounds;
  while (all.played < affordable() && (all.planned == 0 || all.played < all.planned)) {
    progress(all.played + 1, all.planned == 0 ? affordable() : std::min(affordable(), all.planned));
    play_round(remedies, all);
    all.seconds = seconds_since(start);
    if (all.played == pilot_pairs && limits.rounds == 0) all.planned = rounds_by_pilot(all, limits);
  }
  return all;
}

}  // namespace ashlar::cli
