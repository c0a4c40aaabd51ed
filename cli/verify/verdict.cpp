// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One measure decides, the others inform.
#include "cli/verify/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ashlar::cli {

namespace {

double geometric_mean(const std::vector<double>& values, double floor) {
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(std::max(v, floor)));
  return std::exp(mean_of(logs));
}

measure_effect effect_on(const experiment& runs, run_measure m, double threshold, random_engine& random) {
  const double floor = facts_of(m).floor;
  const std::vector<double> a = runs.values(m, &run_pair::a), b = runs.values(m, &run_pair::b);
  measure_effect result{geometric_mean(a, floor), geometric_mean(b, floor), {}, {}};
  result.effect = effect_of(log_ratios(a, b, floor), effect_error, random);
  result.found = judge(result.effect, threshold);
  return result;
}

paired_effect against_itself(const experiment& runs, run_measure m, random_engine& random) {
  std::vector<double> first, again;
  for (const run_pair& pair : runs.pairs) {
    if (!pair.again) continue;
    first.push_back(value_of(pair.a, m));
    again.push_back(value_of(*pair.again, m));
  }
  return effect_of(log_ratios(first, again, facts_of(m).floor), itself_error, random);
}

/// Modes closer than the threshold do not matter.
std::optional<two_modes> modes_that_matter(const std::vector<double>& values, double threshold) {
  const auto found = modes_of(values);
  return found && found->high.centre >= found->low.centre * (1 + threshold) ? found : std::nullopt;
}

bool is_difference(finding f) { return f == finding::gain || f == finding::loss; }

verdict decide(finding between, finding itself) {
  if (is_difference(itself)) return verdict::unfit;
  switch (between) {
    case finding::gain: return verdict::better;
    case finding::loss: return verdict::worse;
    case finding::level: return verdict::equivalent;
    case finding::undecided: break;
  }
  return verdict::inconclusive;
}

}  // namespace

verification conclude(const experiment& runs, const experiment_plan& plan) {
  random_engine random(plan.seed);
  verification result;
  for (const run_measure m : run_measures)
    result.measures[static_cast<std::size_t>(m)] = effect_on(runs, m, plan.threshold, random);
  result.itself = against_itself(runs, plan.decides, random);
  result.modes_a = modes_that_matter(runs.values(plan.decides, &run_pair::a), plan.threshold);
  result.modes_b = modes_that_matter(runs.values(plan.decides, &run_pair::b), plan.threshold);
  const measure_effect& main = result.of(plan.decides);
  result.decision = decide(main.found, judge(result.itself, plan.threshold));
  if (result.decision == verdict::inconclusive) result.wanted = pairs_to_decide(main.effect, plan.threshold);
  return result;
}

int exit_status_of(verdict decision) noexcept {
  switch (decision) {
    case verdict::better:
    case verdict::equivalent: return 0;
    case verdict::worse: return exit_worse;
    case verdict::inconclusive: return exit_inconclusive;
    case verdict::unfit: break;
  }
  return exit_unfit;
}

}  // namespace ashlar::cli
