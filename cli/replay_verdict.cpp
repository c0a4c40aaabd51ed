// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Says which allocator a replay speaks for: only what the intervals of its rounds do not explain counts.
#include "replay_verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comparison_text.hpp"

namespace ashlar::cli {

namespace {

constexpr const char* thresholds = "2 % of time, 10 % of p99.9 or 5 % of memory";

/// Returns: the rival with the least ratio of those that gain by `m`; null if none does.
const candidate_figures* best_by(measure m, const std::vector<const candidate_figures*>& rows) {
  const candidate_figures* best = nullptr;
  for (const candidate_figures* row : rows) {
    if (row->versus(m).found != finding::gain) continue;
    if (best == nullptr || row->versus(m).ratio.median < best->versus(m).ratio.median) best = row;
  }
  return best;
}

const candidate_figures* best_of(const std::vector<const candidate_figures*>& rows) {
  for (const measure m : measures)
    if (const candidate_figures* best = best_by(m, rows)) return best;
  return nullptr;
}

const candidate_figures* best_preloadable(const replay_figures& figures) {
  auto rows = figures.rivals();
  std::erase_if(rows, [](const candidate_figures* row) { return !row->is_preloadable(); });
  return best_of(rows);
}

/// Names the gainers of time whose own rounds do not tell them from the winner's.
std::string ties(const candidate_figures& best, const replay_figures& figures) {
  std::string names;
  for (const candidate_figures* row : figures.rivals()) {
    if (row == &best || row->versus(measure::time).found != finding::gain) continue;
    const paired_comparison c = compare(best.in_rounds(measure::time), row->in_rounds(measure::time),
                                        threshold_of(measure::time, 0), figures.played.error);
    if (c.found != finding::loss) names += (names.empty() ? "" : ", ") + row->name;
  }
  return names.empty() ? "" : fmt::format(" As fast, within the noise or 2 %: {}.", names);
}

/// A library is preloaded; a heap is something the program's code has to name.
std::string how_to_have(const candidate_figures& best) {
  switch (best.stand) {
    case replay_stand::local_heap: return " It serves what asks for it by name: ashlar::local_heap, one for a thread.";
    case replay_stand::heap: return " It serves what asks for it by name: ashlar::heap, one for all threads.";
    case replay_stand::tiered_heap:
      return " It serves what asks for it by name: ashlar::tiered_heap, one for all threads.";
    default: return "";
  }
}

std::string without_code(const candidate_figures& best, const replay_figures& figures) {
  const candidate_figures* preloadable = best_preloadable(figures);
  if (preloadable == nullptr) return "";
  if (preloadable == &best) return " It can be preloaded: 'ashlar try' measures the program itself under it.";
  return fmt::format(" Without a change of code: {}, preloaded; 'ashlar try' measures the program itself under it.",
                     preloadable->name);
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

/// Returns: the most that any open question wants.
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
  return has_intervals(played) ? "" : fmt::format(": {} rounds are too few to tell a gain from chance", played.rounds);
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

const candidate_figures* replay_winner(const replay_figures& figures) { return best_of(figures.rivals()); }

std::string replay_verdict(const replay_figures& figures) {
  if (figures.baseline == nullptr) return "No allocator could be measured.";
  const candidate_figures* best = replay_winner(figures);
  return best == nullptr ? stay(figures) : take(*best, figures) + open_questions(figures);
}

}  // namespace ashlar::cli
