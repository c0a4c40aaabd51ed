// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One measure decides, the others inform.
#include "cli/verify/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

double geometric_mean(const std::vector<double>& values, double floor) {
  std::vector<double> logs;
  for (const double v : values) logs.push_back(std::log(std::max(v, floor)));
  return std::exp(mean_of(logs));
}

measure_effect effect_on(const experiment& runs, run_measure m, const experiment_plan& plan, random_engine& random) {
  return effect_between(runs.values(m, &run_pair::a), runs.values(m, &run_pair::b), m, plan.threshold, plan.error,
                        random);
}

paired_effect against_itself(const experiment& runs, const experiment_plan& plan, random_engine& random) {
  const run_measure m = plan.decides;
  std::vector<double> first, again;
  for (const run_pair& pair : runs.pairs) {
    if (!pair.again) continue;
    first.push_back(value_of(pair.a, m));
    again.push_back(value_of(*pair.again, m));
  }
  return effect_of_itself(first, again, m, plan.error, random);
}

/// The names of spans in some run of A or B.
struct span_names {
  std::vector<std::string> of_all_runs;
  std::vector<std::string> missing_in_b;
  std::vector<std::string> of_some_runs;
};

/// The numbers of runs that have a span.
struct runs_with_span {
  std::size_t a = 0;
  std::size_t b = 0;
};

span_names names_of_spans(const experiment& runs) {
  std::map<std::string, runs_with_span> runs_with;
  for (const run_pair& pair : runs.pairs) {
    for (const auto& [name, tail] : pair.spans_a) ++runs_with[name].a;
    for (const auto& [name, tail] : pair.spans_b) ++runs_with[name].b;
  }
  const std::size_t all = runs.pairs.size();
  span_names names;
  for (const auto& [name, count] : runs_with) {
    if (count.a == all && count.b == all) names.of_all_runs.push_back(name);
    else if (count.a != 0 && (count.a == all || count.b == 0)) names.missing_in_b.push_back(name);
    else names.of_some_runs.push_back(name);
  }
  return names;
}

/// The names share the error.
std::vector<span_effect> span_effects(const experiment& runs, const std::vector<std::string>& names,
                                      const experiment_plan& plan, random_engine& random) {
  std::vector<span_effect> all;
  for (const std::string& name : names) {
    std::vector<double> a, b;
    for (const run_pair& pair : runs.pairs) {
      a.push_back(pair.spans_a.at(name));
      b.push_back(pair.spans_b.at(name));
    }
    span_effect s{name, geometric_mean(a, 1), geometric_mean(b, 1), {}, {}};
    s.effect = effect_of(log_ratios(a, b, 1), plan.error / static_cast<double>(names.size()), random);
    s.found = judge(s.effect, plan.threshold);
    all.push_back(std::move(s));
  }
  return all;
}

/// Modes closer than the threshold do not matter.
std::optional<two_modes> modes_that_matter(const std::vector<double>& values, double threshold) {
  const auto found = modes_of(values);
  return found && found->high.centre >= found->low.centre * (1 + threshold) ? found : std::nullopt;
}

/// The spans share the error: two of them take more pairs than the fewest of a plan.
bool could_tell_worse_tail(const std::vector<span_effect>& spans) {
  return std::all_of(spans.begin(), spans.end(),
                     [](const span_effect& s) { return s.effect.pairs >= pairs_for_difference(s.effect.error); });
}

/// The tail must not be worse, regardless of the mean. Without a tail to compare, or with too few pairs to tell,
/// nothing shows that it is not.
verdict decide(finding between, bool is_fit, const verification& v, bool needs_spans) {
  if (!is_fit) return verdict::unfit;
  const bool has_worse_tail =
      std::any_of(v.spans.begin(), v.spans.end(), [](const span_effect& s) { return s.found == finding::loss; });
  if (has_worse_tail || between == finding::loss) return verdict::worse;
  if (needs_spans && (v.spans.empty() || !v.missing_spans.empty() || !could_tell_worse_tail(v.spans)))
    return verdict::incomplete;
  switch (between) {
    case finding::gain: return verdict::better;
    case finding::loss: return verdict::worse;
    case finding::level: return verdict::equivalent;
    case finding::undecided: break;
  }
  return verdict::inconclusive;
}

}  // namespace

measure_effect effect_between(const std::vector<double>& a, const std::vector<double>& b, run_measure m,
                              double threshold, double error, random_engine& random) {
  const double floor = facts_of(m).floor;
  measure_effect result{geometric_mean(a, floor), geometric_mean(b, floor), {}, {}};
  result.effect = effect_of(log_ratios(a, b, floor), error, random);
  result.found = judge(result.effect, threshold);
  return result;
}

verification conclude(const experiment& runs, const experiment_plan& plan) {
  random_engine random(plan.seed);
  verification result;
  for (const run_measure m : run_measures) result.measures[m] = effect_on(runs, m, plan, random);
  result.itself = against_itself(runs, plan, random);
  result.modes_a = modes_that_matter(runs.values(plan.decides, &run_pair::a), plan.threshold);
  result.modes_b = modes_that_matter(runs.values(plan.decides, &run_pair::b), plan.threshold);
  const span_names names = names_of_spans(runs);
  result.spans = span_effects(runs, names.of_all_runs, plan, random);
  result.missing_spans = names.missing_in_b;
  result.uneven_spans = names.of_some_runs;
  const measure_effect& main = result.of(plan.decides);
  result.decision = decide(main.found, !is_unfit(result.itself, plan.threshold), result, plan.spans);
  if (result.decision == verdict::inconclusive) result.wanted = pairs_to_decide(main.effect, plan.threshold);
  return result;
}

paired_effect effect_of_itself(const std::vector<double>& first, const std::vector<double>& again, run_measure m,
                               double error, random_engine& random) {
  return effect_of(log_ratios(first, again, facts_of(m).floor), error / effect_error * itself_error, random);
}

bool is_unfit(const paired_effect& itself, double threshold) {
  const finding found = judge(itself, threshold);
  return found == finding::gain || found == finding::loss;
}

int exit_status_of(verdict decision) noexcept {
  switch (decision) {
    case verdict::better:
    case verdict::equivalent: return 0;
    case verdict::worse: return exit_worse;
    case verdict::inconclusive: return exit_inconclusive;
    case verdict::incomplete: return exit_failure;
    case verdict::unfit: break;
  }
  return exit_unfit;
}

}  // namespace ashlar::cli
