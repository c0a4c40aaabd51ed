// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gains and losses of each candidate against the baseline: time, tail and memory.
#include <cmath>

#include <fmt/format.h>

#include "cli/replay/verdict.hpp"
#include "cli/rounds/comparison_text.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

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

}  // namespace ashlar::cli
