// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The effect of a gain of allocation on the program as a whole. The recorded duration has no part in it, since most of
// it is recording.
#include <algorithm>

#include <fmt/format.h>

#include "cli/replay/verdict.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

std::string range_of(double least, double most, const std::string& low, const std::string& high) {
  return least == most ? low : fmt::format("{} to {}", low, high);
}

std::string in_time(const saved_time& s) {
  const std::string text = range_of(s.least_ms, s.most_ms, human_time(1e6 * s.least_ms), human_time(1e6 * s.most_ms));
  return text + (s.least_ms == s.most_ms ? "" : " (the busiest thread alone; all threads, one after the other)");
}

std::string share_of_program(const saved_time& s, double program_ms) {
  const std::string share =
      range_of(s.least_ms, s.most_ms, percent(s.least_ms, program_ms), percent(s.most_ms, program_ms));
  const char* advice = s.most_ms < 0.01 * program_ms ? " Hardly worth a change for speed alone." : "";
  return fmt::format(", {} of the {} that it takes unrecorded.{}", share, human_time(1e6 * program_ms), advice);
}

}  // namespace

saved_time saved_by(const candidate_figures& row, const replay_figures& figures, const detail::replay_counts& counts) {
  const candidate_figures& base = *figures.baseline;
  const auto operations = static_cast<double>(counts.operations);
  if (counts.lanes == 1) {
    // By the rounds' ratios: a slow period of the machine affects both terms of a ratio.
    const double saved = base.ns_per_op.median * (1 - row.versus(measure::time).ratio.median) * operations / 1e6;
    return {saved, saved};
  }
  const double busiest = base.busiest_ms.median - row.busiest_ms.median;
  const double all = (base.cpu_ns_per_op.median - row.cpu_ns_per_op.median) * operations / 1e6;
  return {std::min(busiest, all), std::max(busiest, all)};
}

std::string replay_meaning(const replay_figures& figures, const replayed_trace& trace) {
  const candidate_figures* best = replay_winner(figures);
  if (best == nullptr || best->versus(measure::time).found != finding::gain) return "";
  const saved_time raw = saved_by(*best, figures, trace.counts);
  const saved_time saved = {std::max(raw.least_ms, 0.0), std::max(raw.most_ms, 0.0)};
  const std::string text = fmt::format("For the whole program: {} saves {} a run", best->name, in_time(saved));
  if (trace.program_ns > 0) return text + share_of_program(saved, trace.program_ns / 1e6);
  return text + ". A recorded run does not show the share of the whole, since recording takes much of it: "
                "'ashlar advise --measure run --only mallocs' measures the share, --program-seconds computes it.";
}

}  // namespace ashlar::cli
