// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of `ashlar verify`, malloc by malloc.
#include "cli/try/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/support/table.hpp"
#include "cli/support/words.hpp"
#include "cli/try/reason.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t name_width = 16;

struct shown_measure {
  run_measure measure;
  const char* name;  ///< As --metric has it.
};
constexpr std::array shown_measures = {shown_measure{run_measure::cpu, "cpu"}, shown_measure{run_measure::wall, "wall"},
                                       shown_measure{run_measure::peak, "peak"}};

std::string in_percent(double value) { return fmt::format("{:+.1f}", value); }

std::string predicted_cell(const trial& t, run_measure m) {
  const predicted_change p = predicted(t, m);
  if (std::abs(p.most - p.least) < 0.1) return in_percent(p.most) + " %";
  return fmt::format("{} to {} %", in_percent(p.least), in_percent(p.most));
}

/// Returns: a malloc that takes less of another measure than the one that decides; empty if there is none.
std::string other_gain(const trials& tried) {
  for (const auto& [measure, name] : shown_measures)
    for (const trial& t : tried.all)
      if (t.failure.empty() && measure != t.plan.decides && t.found.of(measure).found == finding::gain)
        return fmt::format(" But {} takes {} of {}: --metric {} decides by it.", t.predicted.name,
                           change_text(t.found.of(measure).effect.ratio()), facts_of(measure).name, name);
  return "";
}

bool has_doubt(const trials& tried) {
  return std::any_of(tried.all.begin(), tried.all.end(), [](const trial& t) {
    return t.failure.empty() && (t.found.decision == verdict::inconclusive || t.found.decision == verdict::unfit);
  });
}

}  // namespace

predicted_change predicted(const trial& t, run_measure m) {
  const double own = t.found.of(m).a;
  const auto share = [own](double change) { return own > 0 ? 100 * change / own : 0; };
  const double more_bytes = share(t.predicted.peak_bytes_more + t.predicted.loading_bytes);
  if (m == run_measure::peak) return {more_bytes, more_bytes};
  // Processor time is the sum of all threads; wall time may be as little as the busiest thread's.
  const double all_threads = share(t.predicted.loading_ms - t.predicted.saved_most_ms);
  const double busiest = share(t.predicted.loading_ms - t.predicted.saved_least_ms);
  return m == run_measure::cpu ? predicted_change{all_threads, all_threads} : predicted_change{all_threads, busiest};
}

std::string try_table(const trials& tried) {
  text_table table({{"preloaded", side::left},
                    {"", side::left},
                    {"A"},
                    {"B"},
                    {"predicted"},
                    {against_title(tried.all.front().plan.error)},
                    {"detectable"}});
  std::string failures;
  for (const trial& t : tried.all) {
    if (!t.failure.empty()) {
      failures += fmt::format("{}: {}\n", t.predicted.name, t.failure);
      continue;
    }
    for (const auto& [measure, name] : shown_measures) {
      const measure_effect& e = t.found.of(measure);
      table.add({measure == run_measure::cpu ? shorten(t.predicted.name, name_width) : "", name,
                 amount_text(e.a, measure), amount_text(e.b, measure), predicted_cell(t, measure),
                 change_text(e.effect.ratio()), detectable_text(e.effect.detectable())});
    }
  }
  return table.str() + failures;
}

std::vector<std::string> try_verdicts(const trials& tried) {
  std::vector<std::string> all;
  for (const trial& t : tried.all)
    if (t.failure.empty()) all.push_back(t.predicted.name + ": " + verdict_sentence(t.found, t.plan));
  return all;
}

std::string try_conclusion(const trials& tried) {
  if (const trial* const best = tried.best(); best != nullptr) return "To use it: " + best->plan.b.shown;
  const auto has_failed = [](const trial& t) { return !t.failure.empty(); };
  if (std::all_of(tried.all.begin(), tried.all.end(), has_failed)) return "None of them could be tried.";
  return (has_doubt(tried) ? "No gain is shown." : "None of them is better: change nothing.") + other_gain(tried);
}

std::vector<std::string> try_notes(const trials& tried, const trace_predictions& predictions) {
  std::vector<std::pair<std::string, std::string>> notes;  // with the name of a malloc
  std::size_t experiments = 0;
  for (const trial& t : tried.all) {
    if (!t.failure.empty()) continue;
    ++experiments;
    for (std::string& note : verify_notes(t.found, t.runs, t.plan))
      notes.emplace_back(t.predicted.name, std::move(note));
    if (std::string reason = reason_of_miss(tried, t); !reason.empty()) notes.emplace_back("", std::move(reason));
  }
  std::vector<std::string> own, shared;
  for (const auto& [name, note] : notes) {
    const auto is_same = [&](const auto& other) { return other.second == note; };
    const auto times = static_cast<std::size_t>(std::count_if(notes.begin(), notes.end(), is_same));
    if (name.empty() || times < experiments) own.push_back(name.empty() ? note : name + ": " + note);
    else if (std::find(shared.begin(), shared.end(), note) == shared.end()) shared.push_back(note);
  }
  own.insert(own.end(), shared.begin(), shared.end());
  own.emplace_back(
      "Predicted: what a replay of the trace saves, less what loading the library takes, as a share of A.");
  if (const std::string program = joined(tried.all.front().plan.a.command); predictions.program != program)
    own.push_back("The trace is of another command line, and so is the prediction: " + predictions.program);
  if (!predictions.unknown_build.empty()) own.push_back(predictions.unknown_build);
  return own;
}

}  // namespace ashlar::cli
