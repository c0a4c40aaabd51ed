// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The figures of each candidate, and the allocator that a replay favours: only differences beyond the intervals of its
// rounds count.
#include "cli/replay/figures.hpp"

#include <cmath>

#include "cli/rounds/text.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

latency_spread latency_of(const std::vector<replay_result>& results, const latency_figures replay_result::* which) {
  const auto of = [&](const double latency_figures::* figure) {
    return spread_of(results, [=](const replay_result& r) { return r.*which.*figure; });
  };
  return {of(&latency_figures::p50), of(&latency_figures::p99), of(&latency_figures::p999), of(&latency_figures::max)};
}

void add_totals(candidate_figures& row, const std::vector<replay_result>& runs) {
  for (const replay_total& total : replay_totals) row.*total.figure = spread_of(runs, total.of);
  if (!row.is_allocator()) return;  // their blocks overlap
  for (const replay_result& r : runs) row.failed = std::max(row.failed, r.failed);
  for (const replay_result& r : runs) row.damaged = std::max(row.damaged, r.damaged);
}

void add_rounds(candidate_figures& row, const candidate_results& results) {
  const auto in = [&row](measure m) -> std::vector<double>& { return row.rounds[m]; };
  for (const replay_result& r : results.throughput) {
    in(measure::time).push_back(per_operation(time_ns(r), r));
    in(measure::peak).push_back(static_cast<double>(r.peak_bytes));
    in(measure::end).push_back(static_cast<double>(r.end_bytes));
  }
  for (const replay_result& r : results.latency)
    in(measure::tail).push_back(std::max(r.calls.p999, r.timer_step_ns));  // a smaller difference is invisible
}

constexpr const char* thresholds = "2 % of time, 10 % of p99.9 or 5 % of memory";

using figure_rows = std::vector<const candidate_figures*>;

double mean_against_baseline(const candidate_figures* row, measure m) { return row->versus(m).effect.log_ratio.mean; }

/// Returns: the rival with the least ratio among those that gain by `m`; null if none gains.
const candidate_figures* best_by(measure m, figure_rows rows) {
  std::erase_if(rows, [m](const auto* row) { return row->versus(m).found != finding::gain; });
  const auto best = std::ranges::min_element(rows, {}, [m](const auto* row) { return mean_against_baseline(row, m); });
  return best == rows.end() ? nullptr : *best;
}

/// Returns: the gainer with the least time, then those that its rounds do not distinguish from it; none if none gains.
figure_rows fastest_of(const figure_rows& rows, double error) {
  const candidate_figures* best = best_by(measure::time, rows);
  if (best == nullptr) return {};
  figure_rows all = {best};
  for (const candidate_figures* row : rows)
    if (row != best && row->versus(measure::time).found == finding::gain &&
        compare(*best, *row, measure::time, error).found != finding::loss)
      all.push_back(row);
  return all;
}

/// Returns: among equally fast ones, the one with the least peak memory, if its rounds distinguish it from the fastest;
/// else the fastest.
const candidate_figures* leanest_of(const figure_rows& tied, double error) {
  const auto peak = [](const candidate_figures* row) { return row->peak_bytes.median; };
  const auto* least = *std::min_element(tied.begin(), tied.end(), [&](auto* a, auto* b) { return peak(a) < peak(b); });
  return compare(*tied.front(), *least, measure::peak, error).found == finding::gain ? least : tied.front();
}

const candidate_figures* best_in_time(const figure_rows& rows, double error) {
  const figure_rows tied = fastest_of(rows, error);
  return tied.empty() ? nullptr : leanest_of(tied, error);
}

const candidate_figures* best_of(const figure_rows& rows, double error) {
  if (const candidate_figures* best = best_in_time(rows, error)) return best;
  for (const measure m : measures)
    if (const candidate_figures* best = best_by(m, rows)) return best;
  return nullptr;
}

figure_rows preloadable(const replay_figures& figures) {
  figure_rows rows = figures.rivals();
  std::erase_if(rows, [](const candidate_figures* row) { return !row->is_preloadable(); });
  return rows;
}

/// Names the candidates that are as fast as the winner, and the criterion of its choice.
std::string ties(const candidate_figures& best, const replay_figures& figures) {
  const figure_rows tied = fastest_of(figures.rivals(), figures.error);
  std::string names;
  for (const candidate_figures* row : tied)
    if (row != &best) names += (names.empty() ? "" : ", ") + row->name;
  if (names.empty()) return "";
  return fmt::format(" As fast, within the noise or 2 %: {}; {}.", names,
                     tied.front() == &best ? "none of them needs less memory, so the mean time decides"
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
  const candidate_figures* row = best_of(preloadable(figures), figures.error);
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
  for (const measure m : measures)
    if (best.versus(m).found == finding::loss) names += (names.empty() ? "" : ", ") + std::string(name_of(m));
  return names.empty() ? "" : ", and loses by " + names;
}

std::string take(const candidate_figures& best, const replay_figures& figures) {
  return fmt::format("{} {}{}.{}{}{}", best.name, dimension_of(best), losses_of(best), ties(best, figures),
                     how_to_have(best), without_code(best, figures));
}

/// Returns: the rounds for the open question of these rows that needs most, and the option that plays them: `by_rounds`
/// where the pilot's plan ended them, not the budget.
std::string wanted_by(const figure_rows& rows, std::span<const measure> of, const replay_figures& figures,
                      const char* by_rounds) {
  std::size_t wanted = 0;
  for (const candidate_figures* row : rows)
    for (const measure m : of)
      if (row->versus(m).found == finding::undecided) wanted = std::max(wanted, rounds_wanted(*row, m));
  const rounds_played& played = figures.played;
  const bool plan_ended = played.planned != 0 && played.rounds >= played.planned;
  std::string option;
  if (!plan_ended) option = fmt::format("--budget {:.0f}s", seconds_for(wanted, played));
  else if (*by_rounds != '\0') option = fmt::format("{} {}", by_rounds, wanted);
  return wanted_text(wanted, "repetition", option);
}

std::string open_questions(const replay_figures& figures) {
  return figures.decided()
             ? ""
             : " Of what is undecided " + wanted_by(figures.rivals(), measures, figures, "--repetitions") + ".";
}

bool could_tell(const replay_figures& figures) { return figures.played.rounds >= pairs_for_difference(figures.error); }

std::string too_few(const replay_figures& figures) {
  return could_tell(figures)
             ? ""
             : ": " + counted(figures.played.rounds, "round is", "rounds are") + " too few to tell a gain from chance";
}

bool slower_in_time(const candidate_figures* row) { return row->versus(measure::time).found == finding::loss; }

std::string stay(const replay_figures& figures) {
  const auto rivals = figures.rivals();
  const std::string& name = figures.baseline->name;
  if (rivals.empty()) return fmt::format("Only {} was measured: nothing to compare.", name);
  if (!figures.decided())
    return fmt::format("No gain on {} is shown yet{}.{}", name, too_few(figures), open_questions(figures));
  if (std::all_of(rivals.begin(), rivals.end(), slower_in_time))
    return fmt::format("{} is the fastest already, and no candidate gains {}: change nothing.", name, thresholds);
  return fmt::format("No candidate gains {} on {}: change nothing.", thresholds, name);
}

std::string finding_of(const candidate_figures& row) {
  std::vector<named_comparison> all;
  for (const measure m : measures) all.push_back({name_of(m), &row.versus(m)});
  const std::string text = findings_text(all, true);
  return text.empty() ? "no difference that matters" : text;
}

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

comparison compare(const candidate_figures& base, const candidate_figures& row, measure m, double error) {
  random_engine random(1);
  return compare(base.rounds[m], row.rounds[m], scale_of(m, row.timer_step_ns), error, random);
}

measure_scale scale_of(measure m, double clock_step_ns) noexcept {
  switch (m) {
    case measure::time: return {.floor = 1e-3, .threshold = 0.02};
    case measure::tail: return {.floor = 1, .threshold = 0.10, .step = 1.01 * clock_step_ns};
    default: return {.floor = 4096, .threshold = 0.05, .step = 256 << 10};
  }
}

candidate_figures figures_of(const candidate_results& results) {
  candidate_figures row;
  static_cast<candidate&>(row) = results.who;
  row.failure = results.failure;
  add_totals(row, results.throughput);
  add_rounds(row, results);
  row.calls = latency_of(results.latency, &replay_result::calls);
  row.allocations = latency_of(results.latency, &replay_result::allocations);
  row.frees = latency_of(results.latency, &replay_result::frees);
  row.timer_ns = spread_of(results.latency, [](const replay_result& r) { return r.timer_ns; }).median;
  row.timer_step_ns = spread_of(results.latency, [](const replay_result& r) { return r.timer_step_ns; }).median;
  if (row.measured() && row.damaged != 0)
    row.failure = counted(row.damaged, "block") + " changed under the program: do not use it";
  return row;
}

replay_figures::replay_figures(const std::vector<candidate_results>& results, const rounds_played& all_rounds)
    : played(all_rounds) {
  for (const candidate_results& r : results) rows.push_back(figures_of(r));
  for (const candidate_figures& row : rows) {
    if (!row.competes()) continue;
    if (baseline == nullptr || row.name == "glibc") baseline = &row;
    if (fastest == nullptr || row.ns_per_op.median < fastest->ns_per_op.median) fastest = &row;
  }
  error /= static_cast<double>(measures.size() * std::max<std::size_t>(rivals().size(), 1));
  for (candidate_figures& row : rows)
    if (row.competes() && &row != baseline)
      for (const measure m : measures) row.against_baseline[m] = compare(*baseline, row, m, error);
}

std::vector<const candidate_figures*> replay_figures::rivals() const {
  std::vector<const candidate_figures*> all;
  for (const candidate_figures& row : rows)
    if (row.competes() && &row != baseline) all.push_back(&row);
  return all;
}

bool replay_figures::decided() const {
  for (const candidate_figures* row : rivals())
    for (const measure m : measures)
      if (row->versus(m).found == finding::undecided) return false;
  return true;
}

std::size_t replay_figures::planned() const {
  std::size_t wanted = std::max(least_pairs, pairs_for_difference(error));
  for (const candidate_figures* row : rivals())
    for (const measure m : measures) {
      const paired_effect& e = row->versus(m).effect;
      wanted = std::max(wanted, planned_pairs(e.deviation, e.pairs, scale_of(m, 0).threshold, e.error));
    }
  return wanted;
}

const candidate_figures* replay_winner(const replay_figures& figures) {
  return best_of(figures.rivals(), figures.error);
}

std::string replay_verdict(const replay_figures& figures) {
  if (figures.baseline == nullptr) return "No allocator could be measured.";
  const candidate_figures* best = replay_winner(figures);
  return best == nullptr ? stay(figures) : take(*best, figures) + open_questions(figures);
}

std::size_t rounds_wanted(const candidate_figures& row, measure m) {
  const paired_effect& e = row.versus(m).effect;
  return std::max(pairs_to_decide(e, scale_of(m, 0).threshold), pairs_for_difference(e.error));
}

bool preload_is_open(const replay_figures& figures) {
  const figure_rows rows = preloadable(figures);
  return best_in_time(rows, figures.error) == nullptr && std::ranges::any_of(rows, [](const candidate_figures* row) {
           return row->versus(measure::time).found == finding::undecided &&
                  mean_against_baseline(row, measure::time) < 0;
         });
}

std::string preload_verdict(const replay_figures& figures) {
  const figure_rows rows = preloadable(figures);
  if (const candidate_figures* best = best_in_time(rows, figures.error))
    return fmt::format("Preload {}: PREDICTED {}.", best->name, finding_of(*best));
  if (preload_is_open(figures))
    return "Undecided: PREDICTED gains of mallocs that can be preloaded are undecided; " +
           wanted_by(rows, std::span(measures).first(1), figures, "") + ".";
  return "Change nothing: no malloc that can be preloaded is PREDICTED to gain.";
}

std::string replay_findings_heading(const replay_figures& figures) {
  if (figures.baseline == nullptr || figures.rivals().empty()) return "";
  const char* const trust = could_tell(figures) ? "all intervals together hold with 95 %"
                                                : "too few for intervals: means, which may be chance";
  return fmt::format("Against {}, round by round ({}; {}):", figures.baseline->name,
                     counted(figures.played.rounds, "round"), trust);
}

std::vector<std::string> replay_findings(const replay_figures& figures) {
  std::vector<std::string> lines;
  for (const candidate_figures* row : figures.rivals()) lines.push_back(row->name + ": " + finding_of(*row));
  return lines;
}

saved_time saved_by(const candidate_figures& row, const replay_figures& figures, const detail::replay_counts& counts) {
  const candidate_figures& base = *figures.baseline;
  const auto operations = static_cast<double>(counts.operations);
  if (counts.lanes == 1) {
    // By the rounds' ratios: a slow period of the machine affects both terms of a ratio.
    const double saved =
        -base.ns_per_op.median * std::expm1(mean_against_baseline(&row, measure::time)) * operations / 1e6;
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
