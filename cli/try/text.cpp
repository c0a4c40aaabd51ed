// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A row for each candidate and measure; the winner saves most processor time.
#include "cli/try/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/rounds/comparison_text.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/try/reason.hpp"

namespace ashlar::cli {

namespace {

constexpr auto cpu = program_measure::cpu;
constexpr auto peak = program_measure::peak;

std::string amount(double value, program_measure m) { return m == peak ? human_bytes(value) : human_time(1e6 * value); }

std::string in_percent(double value) { return fmt::format("{:+.1f}", value); }

std::string predicted_cell(const trials& all, const trial& t, program_measure m) {
  const predicted_change p = predicted(all, t, m);
  if (std::abs(p.most - p.least) < 0.1) return in_percent(p.most) + " %";
  return fmt::format("{} to {} %", in_percent(p.least), in_percent(p.most));
}

const trial* best_by(const trials& all, program_measure m) {
  const trial* best = nullptr;
  for (const trial& t : all.candidates) {
    if (!t.failure.empty() || t.versus(m).found != finding::gain) continue;
    if (best == nullptr || t.versus(m).ratio.median < best->versus(m).ratio.median) best = &t;
  }
  return best;
}

std::string in_words(const trial& t, program_measure m) {
  const paired_comparison& c = t.versus(m);
  return m == peak ? "peak RSS " + bytes_change(c.baseline, c.own) : relative_change(c.ratio, spelling_of(m).name);
}

std::string findings(const trial& t, finding wanted) {
  std::string all;
  for (const program_measure m : program_measures)
    if (t.versus(m).found == wanted) all += (all.empty() ? "" : ", ") + in_words(t, m);
  return all;
}

std::string preload(const trial& best, const std::string& program) {
  const std::string losses = findings(best, finding::loss);
  const std::string& command = best.predicted.command;
  return fmt::format("{}: {}{}{}. To use it: {} {}", best.predicted.name, findings(best, finding::gain),
                     losses.empty() ? "" : "; but ", losses,
                     command.empty() ? "LD_PRELOAD=" + best.predicted.library : command + " --", program);
}

std::string stay(const trials& all) {
  std::size_t wanted = 0;
  for (const trial& t : all.candidates)
    for (const program_measure m : {cpu, peak})
      if (t.failure.empty()) wanted = std::max(wanted, t.versus(m).rounds_wanted);
  if (wanted == 0)
    return "None of them saves 1 % of processor time or wall time, or 5 % of memory, for the whole program: change "
           "nothing.";
  return fmt::format("No gain for the whole program is shown yet: {} would decide.",
                     more_rounds(wanted, all.played, "--budget"));
}

}  // namespace

predicted_change predicted(const trials& all, const trial& t, program_measure m) {
  const double own = median_of(all.own.in_rounds(m));
  const auto share = [own](double change) { return own > 0 ? 100 * change / own : 0; };
  const double more_bytes = share(t.predicted.peak_bytes_more + t.predicted.loading_bytes);
  if (m == peak) return {more_bytes, more_bytes};
  // Processor time is the sum of all threads; wall time may be as little as the busiest thread's.
  const double all_threads = share(t.predicted.loading_ms - t.predicted.saved_most_ms);
  const double busiest = share(t.predicted.loading_ms - t.predicted.saved_least_ms);
  return m == cpu ? predicted_change{all_threads, all_threads} : predicted_change{all_threads, busiest};
}

std::string try_headline(const trials& all, const std::string& program) {
  return fmt::format("{}: {} rounds; with its own malloc {} of processor time, {} of wall time, {} at the peak",
                     shorten(program, 200), all.played.rounds, amount(median_of(all.own.in_rounds(cpu)), cpu),
                     amount(median_of(all.own.in_rounds(program_measure::wall)), program_measure::wall),
                     amount(median_of(all.own.in_rounds(peak)), peak));
}

std::string try_table(const trials& all) {
  text_table table(
      {{"preloaded", side::left}, {"", side::left}, {"own malloc"}, {"with it"}, {"predicted"}, {"measured"}});
  std::string failures;
  for (const trial& t : all.candidates) {
    if (!t.failure.empty()) {
      failures += fmt::format("{}: {}\n", t.predicted.name, t.failure);
      continue;
    }
    for (const program_measure m : program_measures) {
      const paired_comparison& c = t.versus(m);
      table.add({m == cpu ? shorten(t.predicted.name, 18) : "", spelling_of(m).name, amount(c.baseline, m),
                 amount(c.own, m), predicted_cell(all, t, m), signed_change(c.ratio)});
    }
  }
  return table.str() + failures;
}

std::string try_verdict(const trials& all, const std::string& program) {
  for (const program_measure m : program_measures)
    if (const trial* best = best_by(all, m)) return preload(*best, program);
  return stay(all);
}

std::vector<std::string> try_notes(const trials& all, const trace_predictions& predictions,
                                   const std::string& program) {
  std::vector<std::string> notes;
  notes.emplace_back("Measured: the program itself, unrecorded, once a round under each, compared round by round; all "
                     "intervals together "
                     "hold with 95 %. Predicted: what the replay saves, less what loading the library takes, as a "
                     "share of the unrecorded run with the "
                     "program's own malloc.");
  for (const trial& t : all.candidates)
    if (std::string reason = reason_of_miss(all, t); !reason.empty()) notes.push_back(std::move(reason));
  if (predictions.program != program)
    notes.push_back("The trace is of another command line, and so is the prediction: " + predictions.program);
  if (all.output_varies)
    notes.emplace_back("The program does not print the same each time, so its output was not compared.");
  if (all.status != 0) notes.push_back(fmt::format("The program ends with status {}, each time.", all.status));
  return notes;
}

}  // namespace ashlar::cli
