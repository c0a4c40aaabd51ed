// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Samples the user time of programs whose measured gain differs from the prediction.
#include "cli/try/reason.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/support/table_units.hpp"
#include "cli/try/sampler.hpp"
#include "cli/try/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t sampled_runs = 7;
constexpr double samples_a_run = 2000;

double cpu_of(const trial& t) { return median_of(t.in_rounds(program_measure::cpu)); }
double system_of(const trial& t) { return median_of(t.system_ms); }
double user_of(const trial& t) { return cpu_of(t) - system_of(t); }
double own_code_of(const trial& t) { return median_of(t.own_shares) * user_of(t); }

bool misses(const trials& all, const trial& t) {
  return t.failure.empty() && missed_by(all, t) > points_without_reason;
}

/// Returns: whether the kernel permitted the samples of the run.
bool sample(program_runner& program, trial& t, std::uint64_t period_ns) {
  const std::string& library = t.predicted.library;
  const code_sampler sampler(period_ns);
  static_cast<void>(program.run(library));
  const auto found = sampler.samples(library.empty() ? library : std::filesystem::canonical(library).string());
  if (found) t.own_shares.push_back(found->own_share());
  return found.has_value();
}

std::string own_code_text(const trials& all, const trial& t, double points) {
  return fmt::format(
      "{:+.0f} in the program's own code, outside libc and malloc ({} -> {} of user time), which a replay does not run",
      points, human_time(1e6 * own_code_of(all.own)), human_time(1e6 * own_code_of(t)));
}

std::string kernel_text(const trials& all, const trial& t, double points) {
  return fmt::format("{:+.0f} in the kernel ({} -> {}, {} -> {} page faults), beyond what the replay saves of it",
                     points, human_time(1e6 * system_of(all.own)), human_time(1e6 * system_of(t)),
                     human_count(median_of(all.own.faults)), human_count(median_of(t.faults)));
}

std::string calls_text(double points) {
  return fmt::format("{:+.0f} in libc and malloc, and in what the replay touches for the program", points);
}

std::string parts_text(const trials& all, const trial& t, const missed_parts& parts) {
  std::vector<std::pair<double, std::string>> texts = {{parts.own_code, own_code_text(all, t, parts.own_code)},
                                                       {parts.kernel, kernel_text(all, t, parts.kernel)},
                                                       {parts.calls, calls_text(parts.calls)}};
  std::erase_if(texts, [](const auto& part) { return std::abs(part.first) < 1; });
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string text;
  for (const auto& [points, part] : texts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

double missed_by(const trials& all, const trial& t) {
  const predicted_change p = predicted(all, t, program_measure::cpu);
  const double measured = 100 * (t.versus(program_measure::cpu).ratio.median - 1);
  return std::max({0.0, p.least - measured, measured - p.most});
}

std::optional<missed_parts> parts_of_miss(const trials& all, const trial& t) {
  if (all.own.own_shares.empty() || t.own_shares.empty()) return std::nullopt;
  const double points = 100 / cpu_of(all.own);
  const double missed =
      100 * (t.versus(program_measure::cpu).ratio.median - 1) - predicted(all, t, program_measure::cpu).most;
  missed_parts parts;
  parts.own_code = points * (own_code_of(t) - own_code_of(all.own));
  parts.kernel = points * (system_of(t) - system_of(all.own) + t.predicted.system_saved_ms);
  parts.calls = missed - parts.own_code - parts.kernel;
  return parts;
}

void sample_misses(program_runner& program, trials& all, const trial_progress& progress) {
  std::vector<trial*> wanted;
  for (trial& t : all.candidates)
    if (misses(all, t)) wanted.push_back(&t);
  if (wanted.empty()) return;
  wanted.insert(wanted.begin(), &all.own);
  const auto period_ns = static_cast<std::uint64_t>(1e6 * std::max(cpu_of(all.own), 10.0) / samples_a_run);
  for (std::size_t round = 0; round < sampled_runs; ++round)
    for (trial* t : wanted) {
      progress(round, t == &all.own ? "its own malloc, sampled" : t->predicted.name + ", sampled");
      if (!sample(program, *t, period_ns)) return;
    }
}

std::string reason_of_miss(const trials& all, const trial& t) {
  if (!misses(all, t)) return "";
  const std::string text =
      fmt::format("{}: the measurement is {:.0f} points off the prediction", t.predicted.name, missed_by(all, t));
  const auto parts = parts_of_miss(all, t);
  if (!parts) return text + ". Their cause is unknown: the program could not be sampled here (perf_event_open).";
  return fmt::format("{}: {}.", text, parts_text(all, t, *parts));
}

}  // namespace ashlar::cli
