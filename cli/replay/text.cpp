// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rows of a replay and the method of its measurement, for people and as JSON.
#include "cli/rounds/text.hpp"
#include "cli/replay/figures.hpp"
#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

std::string range(const spread& s) { return fmt::format("{}–{}", figures3(s.least), figures3(s.greatest)); }

std::string latency(const spread& s, const candidate_figures& row) {
  if (s.median < row.timer_step_ns) return fmt::format("<{:.0f}", row.timer_step_ns);
  return fmt::format("{:.0f}", s.median);
}

std::string name_of(const candidate_figures& row) {
  if (row.stand == replay_stand::null) return "null (replay loop)";
  return shorten(row.name, 18);
}

std::string ratio(const candidate_figures& row, const replay_figures& figures) {
  if (!row.competes() || figures.baseline == nullptr) return "";
  return fmt::format("{:.2f}x", row.ns_per_op.median / figures.baseline->ns_per_op.median);
}

std::vector<std::string> cells(const candidate_figures& row, const replay_figures& figures) {
  const auto ns = [](const spread& s) { return figures3(s.median); };
  return {name_of(row),
          ns(row.ns_per_op),
          range(row.ns_per_op),
          latency(row.calls.p50, row),
          latency(row.calls.p99, row),
          latency(row.calls.p999, row),
          human_time(row.calls.max.median),
          fmt::format("{:.0f}", row.system_ms.median),
          ratio(row, figures)};
}

std::vector<std::string> memory_cells(const candidate_figures& row, const replayed_trace& trace) {
  return {name_of(row),
          human_bytes(row.peak_bytes.median),
          per_live_byte(row.peak_bytes, trace),
          human_bytes(row.end_bytes.median),
          human_bytes(row.held_bytes.median),
          per_live_byte(row.held_bytes, trace),
          human_count(row.faults.median)};
}

std::vector<std::string> threads_cells(const candidate_figures& row) {
  return {name_of(row), figures3(row.cpu_ns_per_op.median), human_count(row.waits.median),
          percent(row.waited_share.median, 1)};
}

void note_threads(std::vector<std::string>& notes, const detail::replay_counts& counts) {
  if (counts.lanes == 1) return;
  notes.push_back(fmt::format(
      "Objects freed or moved by a thread that did not allocate them: {}. Threads that ended in between: {}.",
      grouped(counts.crossing), grouped(counts.ended)));
  notes.emplace_back("A free waits until another thread has allocated its object: waits is the number of such frees, "
                     "waited their share "
                     "of the threads' time. ns/op includes the waiting, latencies do not. Threads may run ahead of "
                     "each other by a window of 65,536 "
                     "operations, so more may be live at once than in the program.");
}

void add_skipped(std::vector<std::string>& notes, std::uint64_t n, const char* one, const char* many) {
  if (n != 0) notes.push_back(counted(n, one, many));
}

/// Returns: whether one thread waited for a processor a third of the time, which no allocator causes.
bool was_disturbed(const replay_figures& figures, const replayed_trace& trace) {
  if (trace.counts.lanes != 1) return false;
  for (const candidate_figures& row : figures.rows)
    if (row.competes() && row.wall_ns_per_op.median > 1.5 * row.cpu_ns_per_op.median) return true;
  return false;
}

const char* sharing(const candidate_figures& row, const replayed_trace& trace) {
  if (trace.counts.lanes == 1) return "";
  return row.stand == replay_stand::local_heap ? "each thread has one; " : "all threads share it; ";
}

void note_candidate(std::vector<std::string>& notes, const candidate_figures& row, const replayed_trace& trace) {
  if (!row.measured()) return;
  if (row.stand == replay_stand::null)
    notes.push_back(fmt::format(
        "null hands out the same warm bytes again and again: its figures are the loop and the "
        "touching. The clock costs {:.0f} ns a call, taken off the latencies, and goes in steps "
        "of {:.0f} ns.{}",
        row.timer_ns, row.timer_step_ns,
        trace.counts.lanes == 1
            ? ""
            : " Those figures include the handover of objects between threads, and the start and end of threads."));
  if (row.stand == replay_stand::untouched)
    notes.push_back(fmt::format("The loop itself, without touching memory, costs {} ns an operation.",
                                figures3(row.ns_per_op.median)));
  if (row.stand == replay_stand::ashlar)
    notes.emplace_back(
        "ashlar (block pools by size over pages, malloc above 8 KiB) gets the size of each freed block, as "
        "sized delete passes it in C++; the others do not.");
  if (row.is_heap())
    notes.push_back(fmt::format(
        "{} is compiled into the replay, the libraries are called; {}{} passed the size, as in the program.", row.name,
        sharing(row, trace), counted(trace.counts.sized_frees, "free")));
  if (row.stand == replay_stand::tiered_heap)
    notes.emplace_back("A trace does not contain the plan: the row of tiered_heap is its heap, and the test of each "
                       "free for a planned "
                       "block.");
  if (row.failed != 0) notes.push_back(fmt::format("{} could not serve {}.", row.name, counted(row.failed, "request")));
}

}  // namespace

std::string replay_headline(const replayed_trace& trace) {
  return fmt::format("{}: {} on {}, {}", trace.program.empty() ? trace.path : trace.program,
                     counted(trace.counts.operations, "operation"), counted(trace.counts.lanes, "thread"),
                     counted(trace.repetitions, "repetition"));
}

std::string replay_table(const replay_figures& figures) {
  const std::string against = figures.baseline == nullptr ? "" : "vs " + shorten(figures.baseline->name, 10);
  text_table table(
      {{"allocator", side::left}, {"ns/op"}, {"spread"}, {"p50"}, {"p99"}, {"p99.9"}, {"max"}, {"sys ms"}, {against}});
  for (const candidate_figures& row : figures.rows)
    if (row.competes()) table.add(cells(row, figures));
  table.rule();
  std::string failures;
  for (const candidate_figures& row : figures.rows) {
    if (row.stand == replay_stand::null && row.measured()) table.add(cells(row, figures));
    if (!row.measured()) failures += fmt::format("{}: {}\n", row.name, row.failure);
  }
  return table.str() + failures;
}

std::string per_live_byte(const spread& bytes, const replayed_trace& trace) {
  if (trace.counts.peak_live_bytes == 0) return "";
  return fmt::format("{:.2f}x", bytes.median / static_cast<double>(trace.counts.peak_live_bytes));
}

std::string replay_memory_table(const replay_figures& figures, const replayed_trace& trace) {
  text_table table(
      {{"allocator", side::left}, {"peak RSS"}, {"of live"}, {"RSS at end"}, {"peak mapped"}, {"of live"}, {"faults"}});
  for (const candidate_figures& row : figures.rows)
    if (row.competes()) table.add(memory_cells(row, trace));
  return table.str() + fmt::format("{} were live at the peak, {} at the end.\n", in_bytes(trace.counts.peak_live_bytes),
                                   in_bytes(trace.counts.live_bytes));
}

std::string replay_threads_table(const replay_figures& figures, const replayed_trace& trace) {
  if (trace.counts.lanes == 1) return "";
  text_table table({{"allocator", side::left}, {"cpu ns/op"}, {"waits"}, {"waited"}});
  for (const candidate_figures& row : figures.rows)
    if (row.competes()) table.add(threads_cells(row));
  table.rule();
  for (const candidate_figures& row : figures.rows)
    if (row.stand == replay_stand::null && row.measured()) table.add(threads_cells(row));
  return table.str();
}

std::vector<std::string> replay_notes(const replay_figures& figures, const replayed_trace& trace) {
  std::vector<std::string> notes;
  notes.emplace_back(
      "ns/op is the median time of an allocation or a free, touching the memory included: processor time of one "
      "thread, wall time of several; p50 to max are ns of the calls alone, timed in repetitions of their own; RSS is "
      "the growth of resident memory since before the replay; mapped is all writable memory except the replay's own "
      "buffers.");
  for (const candidate_figures& row : figures.rows) note_candidate(notes, row, trace);
  note_threads(notes, trace.counts);
  if (was_disturbed(figures, trace))
    notes.emplace_back(
        "Other programs kept the processors busy: wall time, and with it the latencies, is far above processor time. "
        "Repeat it on a quiet machine.");
  add_skipped(notes, trace.counts.never_freed,
              "object was never freed by the program: it is allocated in the replay, and not freed there either.",
              "objects were never freed by the program: they are allocated in the replay, and not freed there either.");
  add_skipped(notes, trace.counts.unknown_objects, "free of an object older than the trace was left out.",
              "frees of objects older than the trace were left out.");
  add_skipped(notes, trace.counts.failed, "call that returned null was left out.",
              "calls that returned null were left out.");
  add_skipped(notes, trace.counts.impossible, "event that contradicts the rest was left out.",
              "events that contradict the rest were left out.");
  notes.insert(notes.end(), trace.left_out.begin(), trace.left_out.end());
  if (!trace.missing.empty()) notes.push_back("Not on this machine: " + joined(trace.missing, ", ") + ".");
  return notes;
}

namespace {

using nlohmann::json;

json to_json(const spread& s) { return {{"median", s.median}, {"min", s.least}, {"max", s.greatest}}; }

json to_json(const latency_spread& l) {
  return {{"p50", to_json(l.p50)}, {"p99", to_json(l.p99)}, {"p99_9", to_json(l.p999)}, {"max", to_json(l.max)}};
}

constexpr detail::enum_table<replay_stand, const char*> stands = {"malloc",     "null", "null, untouched", "ashlar",
                                                                  "local_heap", "heap", "tiered_heap"};
constexpr detail::enum_table<measure, const char*> keys = {"time", "p99_9", "peak_rss", "end_rss"};

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
          {"rounds_planned", or_null(figures.played.planned)},
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
