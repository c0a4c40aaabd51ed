// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An experiment for each malloc; one under which the program does something else is refused, the others go on.
#include "cli/try/trial.hpp"

#include <algorithm>

#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

trial trial_of(const experiment_plan& setting, const prediction& predicted, std::size_t count) {
  trial t{.predicted = predicted, .plan = setting, .failure = predicted.failure};
  const candidate malloc{.name = predicted.name, .library = predicted.library, .command = predicted.command};
  t.plan.b = checked_under_library(malloc, setting.a.command, "try");
  t.plan.error = effect_error / static_cast<double>(count);
  t.plan.seconds = setting.seconds / static_cast<double>(count);
  return t;
}

void play(trial& t, const trial_progress& progress) {
  if (!t.failure.empty()) return;
  try {
    t.runs = run_experiment(
        t.plan, [&](std::size_t pair, std::size_t pairs) { progress(t.predicted.name, progress_text(pair, pairs)); });
    t.found = conclude(t.runs, t.plan);
  } catch (const different_program& difference) {
    t.failure = difference.what();
  }
}

bool is_any(const trials& tried, verdict decision) {
  return std::any_of(tried.all.begin(), tried.all.end(),
                     [&](const trial& t) { return t.failure.empty() && t.found.decision == decision; });
}

}  // namespace

const trial* trials::best() const noexcept {
  const auto ratio = [](const trial& t) { return t.found.of(t.plan.decides).effect.log_ratio.mean; };
  const trial* best = nullptr;
  for (const trial& t : all)
    if (t.failure.empty() && t.found.decision == verdict::better && (best == nullptr || ratio(t) < ratio(*best)))
      best = &t;
  return best;
}

trials try_all(const experiment_plan& setting, const std::vector<prediction>& candidates,
               const trial_progress& progress) {
  trials tried;
  for (const prediction& p : candidates) tried.all.push_back(trial_of(setting, p, candidates.size()));
  for (trial& t : tried.all) play(t, progress);
  return tried;
}

int exit_status_of(const trials& tried) noexcept {
  if (std::any_of(tried.all.begin(), tried.all.end(), [](const trial& t) { return !t.failure.empty(); }))
    return exit_failure;
  if (is_any(tried, verdict::unfit)) return exit_unfit;
  return tried.best() == nullptr && is_any(tried, verdict::inconclusive) ? exit_inconclusive : exit_ok;
}

}  // namespace ashlar::cli
