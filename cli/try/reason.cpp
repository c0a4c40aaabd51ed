// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Samples the user time of programs whose measured gain differs from the prediction.
#include "cli/try/reason.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/rounds/interval.hpp"
#include "cli/support/table_units.hpp"
#include "cli/try/sampler.hpp"
#include "cli/try/text.hpp"
#include "cli/verify/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t sampled_runs = 7;
constexpr double samples_a_run = 2000;

using side_figures = run_figures run_pair::*;

double median(const trial& t, run_measure m, side_figures side) { return median_of(t.runs.values(m, side)); }
double own_code_of(const trial& t, const std::vector<double>& shares, side_figures side) {
  return median_of(shares) * median(t, run_measure::user, side);
}

bool misses(const trial& t) { return t.failure.empty() && missed_by(t) > points_without_reason; }

/// Returns: whether the kernel permitted the samples of the run.
bool sample(const program_side& side, const std::string& input, random_engine& random, std::uint64_t period_ns,
            std::vector<double>& shares) {
  const code_sampler sampler(period_ns);
  static_cast<void>(run_side(side, input, random));
  const std::string& library = side.library;
  const auto found = sampler.samples(library.empty() ? library : std::filesystem::canonical(library).string());
  if (found) shares.push_back(found->own_share());
  return found.has_value();
}

std::string own_code_text(const trials& tried, const trial& t, double points) {
  return fmt::format(
      "{:+.0f} in the program's own code, outside libc and malloc ({} -> {} of user time), which a replay does not run",
      points, human_time(1e6 * own_code_of(t, tried.own_shares, &run_pair::a)),
      human_time(1e6 * own_code_of(t, t.own_shares, &run_pair::b)));
}

std::string kernel_text(const trial& t, double points) {
  const auto amounts = [&](run_measure m) {
    return fmt::format("{} -> {}", amount_text(median(t, m, &run_pair::a), m),
                       amount_text(median(t, m, &run_pair::b), m));
  };
  return fmt::format("{:+.0f} in the kernel ({}, page faults {}), beyond what the replay saves of it", points,
                     amounts(run_measure::system), amounts(run_measure::faults));
}

std::string calls_text(double points) {
  return fmt::format("{:+.0f} in libc and malloc, and in what the replay touches for the program", points);
}

std::string parts_text(const trials& tried, const trial& t, const missed_parts& parts) {
  std::vector<std::pair<double, std::string>> texts = {{parts.own_code, own_code_text(tried, t, parts.own_code)},
                                                       {parts.kernel, kernel_text(t, parts.kernel)},
                                                       {parts.calls, calls_text(parts.calls)}};
  std::erase_if(texts, [](const auto& part) { return std::abs(part.first) < 1; });
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string text;
  for (const auto& [points, part] : texts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

double missed_by(const trial& t) {
  const predicted_change p = predicted(t, run_measure::cpu);
  const double measured = 100 * (t.found.of(run_measure::cpu).effect.ratio().median - 1);
  return std::max({0.0, p.least - measured, measured - p.most});
}

std::optional<missed_parts> parts_of_miss(const trials& tried, const trial& t) {
  if (tried.own_shares.empty() || t.own_shares.empty()) return std::nullopt;
  const double points = 100 / median(t, run_measure::cpu, &run_pair::a);
  const double measured = 100 * (t.found.of(run_measure::cpu).effect.ratio().median - 1);
  missed_parts parts;
  parts.own_code =
      points * (own_code_of(t, t.own_shares, &run_pair::b) - own_code_of(t, tried.own_shares, &run_pair::a));
  parts.kernel = points * (median(t, run_measure::system, &run_pair::b) - median(t, run_measure::system, &run_pair::a) +
                           t.predicted.system_saved_ms);
  parts.calls = measured - predicted(t, run_measure::cpu).most - parts.own_code - parts.kernel;
  return parts;
}

void sample_misses(trials& tried, const trial_progress& progress) {
  if (std::none_of(tried.all.begin(), tried.all.end(), misses)) return;
  const experiment_plan& shared = tried.all.front().plan;
  const std::string input = shared.inputs.empty() ? "" : shared.inputs.front();
  const auto one = std::find_if(tried.all.begin(), tried.all.end(), misses);
  const double milliseconds = std::max(median(*one, run_measure::cpu, &run_pair::a), 10.0);
  const auto period_ns = static_cast<std::uint64_t>(1e6 * milliseconds / samples_a_run);
  random_engine random(shared.seed);
  for (std::size_t round = 0; round < sampled_runs; ++round) {
    progress("its own malloc", "sampled");
    if (!sample(shared.a, input, random, period_ns, tried.own_shares)) return;
    for (trial& t : tried.all) {
      if (!misses(t)) continue;
      progress(t.predicted.name, "sampled");
      if (!sample(t.plan.b, input, random, period_ns, t.own_shares)) return;
    }
  }
}

std::string reason_of_miss(const trials& tried, const trial& t) {
  if (!misses(t)) return "";
  const std::string text =
      fmt::format("{}: the measurement is {} off the prediction", t.predicted.name, human_count(missed_by(t), "point"));
  const auto parts = parts_of_miss(tried, t);
  if (!parts) return text + ". Their cause is unknown: the program could not be sampled here (perf_event_open).";
  return fmt::format("{}: {}.", text, parts_text(tried, t, *parts));
}

}  // namespace ashlar::cli
