// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocator that a replay favours: only differences beyond the intervals of its rounds count.
#include "cli/replay/verdict.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* thresholds = "2 % of time, 10 % of p99.9 or 5 % of memory";

using figure_rows = std::vector<const candidate_figures*>;

/// Returns: the rival with the least ratio among those that gain by `m`; null if none gains.
const candidate_figures* best_by(measure m, const figure_rows& rows) {
  const candidate_figures* best = nullptr;
  for (const candidate_figures* row : rows) {
    if (row->versus(m).found != finding::gain) continue;
    if (best == nullptr || row->versus(m).ratio.median < best->versus(m).ratio.median) best = row;
  }
  return best;
}

finding against(const candidate_figures& base, const candidate_figures& row, measure m, double error) {
  return compare(base.in_rounds(m), row.in_rounds(m), threshold_of(m, 0), error).found;
}

/// Returns: the gainer with the least time, then those that its rounds do not distinguish from it; none if none gains.
figure_rows fastest_of(const figure_rows& rows, double error) {
  const candidate_figures* best = best_by(measure::time, rows);
  if (best == nullptr) return {};
  figure_rows all = {best};
  for (const candidate_figures* row : rows)
    if (row != best && row->versus(measure::time).found == finding::gain &&
        against(*best, *row, measure::time, error) != finding::loss)
      all.push_back(row);
  return all;
}

/// Returns: among equally fast ones, the one with the least peak memory, if its rounds distinguish it from the fastest;
/// else the fastest.
const candidate_figures* leanest_of(const figure_rows& tied, double error) {
  const auto peak = [](const candidate_figures* row) { return row->peak_bytes.median; };
  const auto* least = *std::min_element(tied.begin(), tied.end(), [&](auto* a, auto* b) { return peak(a) < peak(b); });
  return against(*tied.front(), *least, measure::peak, error) == finding::gain ? least : tied.front();
}

const candidate_figures* best_of(const figure_rows& rows, double error) {
  if (const figure_rows tied = fastest_of(rows, error); !tied.empty()) return leanest_of(tied, error);
  for (const measure m : measures)
    if (const candidate_figures* best = best_by(m, rows)) return best;
  return nullptr;
}

const candidate_figures* best_preloadable(const replay_figures& figures) {
  auto rows = figures.rivals();
  std::erase_if(rows, [](const candidate_figures* row) { return !row->is_preloadable(); });
  return best_of(rows, figures.played.error);
}

/// Names the candidates that are as fast as the winner, and the criterion of its choice.
std::string ties(const candidate_figures& best, const replay_figures& figures) {
  const figure_rows tied = fastest_of(figures.rivals(), figures.played.error);
  std::string names;
  for (const candidate_figures* row : tied)
    if (row != &best) names += (names.empty() ? "" : ", ") + row->name;
  if (names.empty()) return "";
  return fmt::format(" As fast, within the noise or 2 %: {}; {}.", names,
                     tied.front() == &best ? "none of them needs less memory, so the median time decides"
                                           : "it needs the least memory of them at the peak");
}

/// A library is preloaded; a heap must be named by the program's code.
std::string how_to_have(const candidate_figures& best) {
  switch (best.stand) {
    case replay_stand::local_heap: return " It serves code that names it: ashlar::local_heap, one for each thread.";
    case replay_stand::heap: return " It serves code that names it: ashlar::heap, one for all threads.";
    case replay_stand::tiered_heap: return " It serves code that names it: ashlar::tiered_heap, one for all threads.";
    default: return "";
  }
}

std::string command_in_quotes(const candidate_figures& row) { return "'" + row.command + " -- PROG'"; }

std::string to_take(const candidate_figures& best) {
  return best.command.empty() ? " It can be preloaded" : " To take it: " + command_in_quotes(best);
}

std::string instead(const candidate_figures& row) {
  return fmt::format(" Without a change of code: {}, {}", row.name,
                     row.command.empty() ? "preloaded" : "by " + command_in_quotes(row));
}

std::string without_code(const candidate_figures& best, const replay_figures& figures) {
  const candidate_figures* row = best_preloadable(figures);
  if (row == nullptr) return "";
  return (row == &best ? to_take(best) : instead(*row)) +
         "; 'ashlar advise --measure run --only mallocs' measures the program itself.";
}

const char* dimension_of(const candidate_figures& best) {
  if (best.versus(measure::time).found == finding::gain) return "gains most time";
  if (best.versus(measure::tail).found == finding::gain) return "gains no time, but most tail";
  return "gains no time, but most memory";
}

std::string losses_of(const candidate_figures& best) {
  std::string names;
  const auto add = [&](measure m, const char* name) {
    if (best.versus(m).found == finding::loss) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(measure::time, "time");
  add(measure::tail, "p99.9");
  add(measure::peak, "memory at the peak");
  add(measure::end, "memory at the end");
  return names.empty() ? "" : fmt::format(", and loses by {}", names);
}

std::string take(const candidate_figures& best, const replay_figures& figures) {
  return fmt::format("{} {}{}.{}{}{}", best.name, dimension_of(best), losses_of(best), ties(best, figures),
                     how_to_have(best), without_code(best, figures));
}

/// Returns: the largest number of rounds that an open question needs.
std::size_t rounds_wanted(const replay_figures& figures) {
  std::size_t wanted = 0;
  for (const candidate_figures* row : figures.rivals())
    for (const measure m : measures) wanted = std::max(wanted, row->versus(m).rounds_wanted);
  return wanted;
}

std::string open_questions(const replay_figures& figures) {
  if (figures.decided()) return "";
  return fmt::format(" For what is undecided: {}.", more_rounds(rounds_wanted(figures), figures.played, "--budget"));
}

std::string too_few(const rounds_played& played) {
  return has_intervals(played)
             ? ""
             : ": " + counted(played.rounds, "round is", "rounds are") + " too few to tell a gain from chance";
}

bool slower_in_time(const candidate_figures* row) { return row->versus(measure::time).found == finding::loss; }

std::string stay(const replay_figures& figures) {
  const auto rivals = figures.rivals();
  const std::string& name = figures.baseline->name;
  if (rivals.empty()) return fmt::format("Only {} was measured: nothing to compare.", name);
  if (!figures.decided())
    return fmt::format("No gain on {} is shown yet{}.{}", name, too_few(figures.played), open_questions(figures));
  if (std::all_of(rivals.begin(), rivals.end(), slower_in_time))
    return fmt::format("{} is the fastest already, and no candidate gains {}: change nothing.", name, thresholds);
  return fmt::format("No candidate gains {} on {}: change nothing.", thresholds, name);
}

}  // namespace

const candidate_figures* replay_winner(const replay_figures& figures) {
  return best_of(figures.rivals(), figures.played.error);
}

std::string replay_verdict(const replay_figures& figures) {
  if (figures.baseline == nullptr) return "No allocator could be measured.";
  const candidate_figures* best = replay_winner(figures);
  return best == nullptr ? stay(figures) : take(*best, figures) + open_questions(figures);
}

namespace {

/// One decimal below ten percent, none above.
std::string points(double value) {
  const double percent = std::round(10 * value) / 10 + 0.0;  // no -0.0
  return std::abs(percent) < 9.95 ? fmt::format("{:.1f}", percent) : fmt::format("{:.0f}", percent);
}

}  // namespace

std::string relative_change(const median_interval& ratio, const char* what) {
  const bool less = ratio.median < 1;
  const auto share = [less](double r) { return points(100 * (less ? 1 - r : r - 1)); };
  const std::string range = fmt::format(" ({} to {})", share(less ? ratio.greatest : ratio.least),
                                        share(less ? ratio.least : ratio.greatest));
  return fmt::format("{} % {} {}{}", share(ratio.median), less ? "less" : "more", what, ratio.bounded() ? range : "");
}

std::string signed_change(const median_interval& ratio) {
  const auto share = [](double r) { return (r > 1 ? "+" : "") + points(100 * (r - 1)); };
  if (!ratio.bounded()) return share(ratio.median) + " %";
  return fmt::format("{} % ({} to {})", share(ratio.median), share(ratio.least), share(ratio.greatest));
}

std::string bytes_change(double from, double to) {
  const std::string a = human_bytes(from), b = human_bytes(to);
  const std::size_t unit = a.find(' ');
  if (unit != a.npos && b.ends_with(a.substr(unit))) return a.substr(0, unit) + " -> " + b;
  return a + " -> " + b;
}

std::string more_rounds(std::size_t wanted, const rounds_played& played, const char* option) {
  if (wanted > most_rounds) return "more than " + counted(most_rounds, "repetition");
  const double each = played.rounds == 0 ? 0 : played.seconds / static_cast<double>(played.rounds);
  const double seconds = std::ceil(1.1 * each * static_cast<double>(wanted)) + 1;
  return fmt::format("about {} ({} {:.0f})", counted(wanted, "repetition"), option, seconds);
}

namespace {

const char* name_of(measure m) {
  switch (m) {
    case measure::time: return "time";
    case measure::tail: return "p99.9";
    case measure::peak: return "memory at the peak";
    case measure::end: return "memory at the end";
  }
  return "";
}

std::string change(const paired_comparison& c, measure m) {
  if (m == measure::time) return relative_change(c.ratio, "time");
  if (m == measure::tail) return fmt::format("p99.9 {:.0f} -> {:.0f} ns", c.baseline, c.own);
  return fmt::format("{} {}", name_of(m), bytes_change(c.baseline, c.own));
}

std::string all_that_are(finding wanted, const candidate_figures& row) {
  std::string all;
  for (const measure m : measures)
    if (row.versus(m).found == wanted) all += (all.empty() ? "" : ", ") + change(row.versus(m), m);
  return all;
}

std::string undecided(const candidate_figures& row) {
  std::string all;
  for (const measure m : measures) {
    const paired_comparison& c = row.versus(m);
    if (c.found == finding::undecided)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", name_of(m), signed_change(c.ratio));
  }
  return all;
}

std::string finding_of(const candidate_figures& row) {
  const std::string gains = all_that_are(finding::gain, row), losses = all_that_are(finding::loss, row);
  const std::string open = undecided(row);
  std::string line = gains;
  if (!losses.empty()) line += (line.empty() ? "" : "; but ") + losses;
  if (!open.empty()) line += (line.empty() ? "undecided: " : "; undecided: ") + open;
  return row.name + ": " + (line.empty() ? "no difference that matters" : line);
}

}  // namespace

std::string replay_findings_heading(const replay_figures& figures) {
  if (figures.baseline == nullptr || figures.rivals().empty()) return "";
  const char* const trust = has_intervals(figures.played) ? "all intervals together hold with 95 %"
                                                          : "too few for intervals: medians, which may be chance";
  return fmt::format("Against {}, round by round ({}; {}):", figures.baseline->name,
                     counted(figures.played.rounds, "round"), trust);
}

std::vector<std::string> replay_findings(const replay_figures& figures) {
  std::vector<std::string> lines;
  for (const candidate_figures* row : figures.rivals()) lines.push_back(finding_of(*row));
  return lines;
}

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
