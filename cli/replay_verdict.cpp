// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says which allocator a replay speaks for: only what the spread of its repetitions does not explain counts.
#include <algorithm>

#include <fmt/format.h>

#include "replay_table.hpp"
#include "table_units.hpp"

namespace ashlar::cli {

namespace {

/// Whether `a` is faster than `b` in every repetition, and by 2 % in the median.
bool clearly_faster(const candidate_figures& a, const candidate_figures& b) {
  return a.ns_per_op.greatest < b.ns_per_op.least && a.ns_per_op.median < 0.98 * b.ns_per_op.median;
}

std::string memory_clause(const candidate_figures& a, const candidate_figures& b) {
  if (b.peak_bytes.median < 1) return "";
  const double share = a.peak_bytes.median / b.peak_bytes.median;
  if (share > 1.02) return fmt::format(", for {:.0f} % more memory at the peak", 100 * (share - 1));
  if (share < 0.98) return fmt::format(", and {:.0f} % less memory at the peak", 100 * (1 - share));
  return ", in as much memory";
}

std::string ties(const replay_figures& figures) {
  std::string names;
  for (const candidate_figures& row : figures.rows) {
    if (!row.competes() || &row == figures.fastest || clearly_faster(*figures.fastest, row)) continue;
    names += (names.empty() ? "" : ", ") + row.name;
  }
  return names.empty() ? "" : fmt::format(" Within the noise of it: {}.", names);
}

/// A library is preloaded; a heap is something the program's code has to name.
const char* how_to_have(const candidate_figures& best) {
  switch (best.stand) {
    case replay_stand::local_heap: return " It serves what asks for it by name: ashlar::local_heap, one for a thread.";
    case replay_stand::heap: return " It serves what asks for it by name: ashlar::heap, one for all threads.";
    case replay_stand::tiered_heap:
      return " It serves what asks for it by name: ashlar::tiered_heap, one for all threads.";
    default: return "";
  }
}

const candidate_figures* runner_up(const replay_figures& figures) {
  const candidate_figures* second = nullptr;
  for (const candidate_figures& row : figures.rows) {
    if (!row.competes() || &row == figures.fastest) continue;
    if (second == nullptr || row.ns_per_op.median < second->ns_per_op.median) second = &row;
  }
  return second;
}

std::string stay(const replay_figures& figures) {
  const candidate_figures* second = runner_up(figures);
  const std::string name = figures.baseline->name;
  if (second == nullptr) return fmt::format("Only {} was measured: nothing to compare.", name);
  if (figures.fastest == figures.baseline && clearly_faster(*figures.baseline, *second))
    return fmt::format("{} is the fastest already ({} is next, {:.2f}x its time): change nothing.", name, second->name,
                       second->ns_per_op.median / figures.baseline->ns_per_op.median);
  return fmt::format("No difference from {} above the noise: change nothing.", name);
}

}  // namespace

std::string replay_verdict(const replay_figures& figures) {
  if (figures.baseline == nullptr) return "No allocator could be measured.";
  const candidate_figures &best = *figures.fastest, &base = *figures.baseline;
  if (!clearly_faster(best, base)) return stay(figures);
  return fmt::format("{} is the fastest: {} ns an operation against {} under {} ({:.2f}x as fast){}.{}{}", best.name,
                     figures3(best.ns_per_op.median), figures3(base.ns_per_op.median), base.name,
                     base.ns_per_op.median / best.ns_per_op.median, memory_clause(best, base), ties(figures),
                     how_to_have(best));
}

std::string replay_meaning(const replay_figures& figures, const replayed_trace& trace) {
  if (figures.baseline == nullptr || figures.baseline == figures.fastest || trace.duration_ns == 0) return "";
  if (!clearly_faster(*figures.fastest, *figures.baseline)) return "";
  const double saved = (figures.baseline->ns_per_op.median - figures.fastest->ns_per_op.median) *
                       static_cast<double>(trace.counts.operations);
  const auto whole = static_cast<double>(trace.duration_ns);
  const char* advice = saved < 0.01 * whole ? " Hardly worth a change for speed alone." : "";
  return fmt::format("For the whole program: {} of the {} recorded, {}.{}", human_time(saved), human_time(whole),
                     percent(saved, whole), advice);
}

}  // namespace ashlar::cli
