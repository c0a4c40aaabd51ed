// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes a replay as JSON: every figure with its unit in its name, and its spread.
#include <nlohmann/json.hpp>

#include "cli/replay/figures.hpp"
#include "cli/rounds/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

json to_json(const spread& s) { return {{"median", s.median}, {"min", s.least}, {"max", s.greatest}}; }

json to_json(const latency_spread& l) {
  return {{"p50", to_json(l.p50)}, {"p99", to_json(l.p99)}, {"p99.9", to_json(l.p999)}, {"max", to_json(l.max)}};
}

constexpr detail::enum_table<replay_stand, const char*> stands = {"malloc",     "null", "null, untouched", "ashlar",
                                                                  "local_heap", "heap", "tiered_heap"};
constexpr detail::enum_table<measure, const char*> keys = {"time", "p99.9", "peak_rss", "end_rss"};

json against_baseline(const candidate_figures& row) {
  json j;
  for (const measure m : measures) {
    j[keys[m]] = comparison_json(row.versus(m));
    if (row.versus(m).found == finding::undecided) j[keys[m]]["rounds_wanted"] = rounds_wanted(row, m);
  }
  return j;
}

json to_json(const candidate_figures& row) {
  json j = {{"name", row.name}, {"kind", stands[row.stand]}, {"library", row.library}};
  if (!row.command.empty()) j["command"] = row.command;
  if (!row.measured()) {
    j["failure"] = row.failure;
    return j;
  }
  for (const replay_total& total : replay_totals) j[total.key] = to_json(row.*total.figure);
  j["latency_ns"] = {{"all", to_json(row.calls)}, {"allocate", to_json(row.allocations)}, {"free", to_json(row.frees)}};
  j["timer_ns"] = row.timer_ns;
  j["timer_step_ns"] = row.timer_step_ns;
  j["failed_requests"] = row.failed;
  return j;
}

json to_json(const detail::replay_counts& c) {
  return {{"operations", c.operations},   {"threads", c.lanes},         {"windows", c.windows},
          {"slots", c.slot_count},        {"failed", c.failed},         {"never_freed", c.never_freed},
          {"unknown", c.unknown_objects}, {"impossible", c.impossible}, {"sized_frees", c.sized_frees},
          {"crossing", c.crossing},       {"live_bytes", c.live_bytes}, {"peak_live_bytes", c.peak_live_bytes},
          {"threads_ended", c.ended}};
}

json allocators_json(const replay_figures& figures, const replayed_trace& trace) {
  json rows = json::array();
  for (const candidate_figures& row : figures.rows) {
    rows.push_back(to_json(row));
    if (!row.competes() || &row == figures.baseline) continue;
    const saved_time saved = saved_by(row, figures, trace.counts);
    rows.back()["against_baseline"] = against_baseline(row);
    rows.back()["saved_ms"] = {{"least", saved.least_ms}, {"most", saved.most_ms}};
  }
  return rows;
}

}  // namespace

json replay_json(const replay_figures& figures, const replayed_trace& trace) {
  const auto name = [](const candidate_figures* row) { return row == nullptr ? json() : json(row->name); };
  return {{"trace", trace.path},
          {"program", trace.program},
          {"duration_ns", trace.duration_ns},
          {"program_ns", trace.program_ns > 0 ? json(trace.program_ns) : json()},
          {"repetitions", trace.repetitions},
          {"seconds", figures.played.seconds},
          {"rounds_planned", figures.played.planned == 0 ? json() : json(figures.played.planned)},
          {"confidence", 1 - effect_error},
          {"counts", to_json(trace.counts)},
          {"allocators", allocators_json(figures, trace)},
          {"left_out", trace.left_out},
          {"baseline", name(figures.baseline)},
          {"fastest", name(figures.fastest)},
          {"winner", name(figures.baseline == nullptr ? nullptr : replay_winner(figures))},
          {"findings", replay_findings(figures)},
          {"verdict", replay_verdict(figures)},
          {"preload", preload_verdict(figures)},
          {"preload_is_open", preload_is_open(figures)},
          {"meaning", replay_meaning(figures, trace)}};
}

}  // namespace ashlar::cli
