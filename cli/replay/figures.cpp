// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes the figures of each candidate from its results.
#include "cli/replay/figures.hpp"

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

}  // namespace ashlar::cli
