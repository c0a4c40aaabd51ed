// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A remedy that gains wins; one that only may leaves the question open.
#include "cli/remedies/experiment.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "cli/support/companion.hpp"

namespace ashlar::cli {

namespace {

bool gains(const remedy_measurement& all, const std::optional<std::size_t>& n) {
  return works(all, n) && all.remedies[*n].deciding().effect.pairs > 0 &&
         all.remedies[*n].deciding().found == finding::gain;
}

bool is_gain(const std::optional<comparison>& e) { return e && e->found == finding::gain; }

bool takes_less(const std::optional<comparison>& e) {
  return e && e->found != finding::level && e->effect.log_ratio.mean < 0;
}

/// Undecided, with a mean that would matter.
bool may_gain(const remedy_effect& e, double threshold) {
  return e.failure.empty() && e.deciding().found == finding::undecided && e.deciding().effect.pairs > 0 &&
         e.deciding().effect.log_ratio.mean <= -std::log1p(threshold);
}

/// The best of several noisy figures flatters: where some were measured again, only those may win.
bool may_win(const remedy_measurement& all, const remedy_effect& e) {
  return e.deciding().found == finding::gain && (all.confirmed.runs.rounds.empty() || e.confirmed);
}

std::optional<std::size_t> winner_of(const remedy_measurement& all) {
  const auto best =
      best_of(all, [&all](const remedy_effect& e) { return e.remedy.kind != remedy_kind::routes && may_win(all, e); });
  const bool on_pages = gains(all, all.plan_on_pages) && takes_less(all.pages_over_plan);
  if (on_pages && (!best || is_gain(all.pages_over_best))) return all.plan_on_pages;
  return gains(all, all.by_plan) && (!best || is_gain(all.over_best)) ? all.by_plan : best;
}

/// Returns: the rounds that decide about the most promising remedy.
std::size_t rounds_wanted(const remedy_measurement& all, double threshold) {
  const auto best = best_of(all, [threshold](const remedy_effect& e) { return may_gain(e, threshold); });
  const std::size_t wanted = best ? pairs_to_decide(all.remedies[*best].deciding().effect, threshold) : 0;
  return std::max({wanted, all.least_rounds, all.least_confirming});
}

bool is_open(const remedy_measurement& all, double threshold) {
  if (all.screened.runs.rounds.size() < all.least_rounds) return true;
  return std::any_of(all.remedies.begin(), all.remedies.end(), [&all, threshold](const remedy_effect& e) {
    const bool gains_unconfirmed = e.failure.empty() && e.deciding().found == finding::gain && !may_win(all, e);
    return may_gain(e, threshold) || gains_unconfirmed;
  });
}

/// No group was measured by itself; `found` of the whole plan against the program as it is.
void keep_by_plan(remedy_measurement& all, finding found) {
  const bool is_over_heap = found != finding::loss && all.over_heap;
  if (is_over_heap) found = all.over_heap->found;
  if (found == finding::gain) return;
  if (found != finding::undecided) all.kept.clear();
  const char* const baseline = is_over_heap ? " over libashlar.so alone" : "";
  all.notes.push_back(found == finding::undecided
                          ? fmt::format("Whether the plan gains{} is undecided: its groups stay.", baseline)
                          : fmt::format("The plan does not gain{}: no group of it stays.", baseline));
}

/// Groups whose own effect is not certain stay where the whole plan gains and was not measured without them. A plan
/// that is level or a loss, over its heap if no group was measured, loses its groups; one that is undecided is left as
/// it was, if its groups are too. One that fails is of no use; an unfit machine tells nothing of the others.
void choose_groups(remedy_measurement& all) {
  if (!all.whole_plan) return;
  if (all.winner && all.winner == all.plan_on_pages) {
    all.kept = all.remedies[*all.winner].groups;
    all.notes.emplace_back("The groups of that plan stay; its file holds no page policy: give --option " +
                           all.remedies[*all.winner].remedy.option + ".");
    return;
  }
  const remedy_effect& plan = all.remedies[*all.whole_plan];
  if (!plan.failure.empty() && !all.by_plan) {
    all.plan_failure = plan.failure;
    all.kept.clear();
    all.notes.emplace_back("The program fails under the plan: no group of it is left.");
    return;
  }
  if (all.decision == remedy_decision::unfit) {
    all.kept = all.groups_of_plan();
    all.notes.emplace_back("All groups stay in the plan.");
    return;
  }
  const finding found = plan.failure.empty() ? plan.deciding().found : finding::loss;
  if (all.by_plan == all.whole_plan && found == finding::gain) all.kept = all.groups_of_plan();
  if (all.groups.empty()) keep_by_plan(all, found);
}

void sort_by_gain(remedy_measurement& all) {
  std::vector<std::size_t> order(all.remedies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto before = [&all](std::size_t a, std::size_t b) {
    const remedy_effect &x = all.remedies[a], &y = all.remedies[b];
    if (x.failure.empty() != y.failure.empty()) return x.failure.empty();
    return x.failure.empty() && x.deciding().effect.log_ratio.mean < y.deciding().effect.log_ratio.mean;
  };
  std::stable_sort(order.begin(), order.end(), before);
  std::vector<remedy_effect> sorted;
  for (const std::size_t n : order) sorted.push_back(std::move(all.remedies[n]));
  all.remedies = std::move(sorted);
  for (std::optional<std::size_t>* n :
       {&all.winner, &all.best_without_code, &all.whole_plan, &all.rest_of_plan, &all.by_plan, &all.plan_on_pages})
    if (*n) *n = static_cast<std::size_t>(std::find(order.begin(), order.end(), **n) - order.begin());
}

}  // namespace

bool is_promising(const remedy_measurement& all, double threshold) {
  return std::any_of(all.remedies.begin(), all.remedies.end(), [threshold](const remedy_effect& e) {
    return may_gain(e, threshold) || (e.failure.empty() && e.deciding().found == finding::gain);
  });
}

std::optional<std::size_t> heap_alone(const remedy_measurement& all) {
  return best_of(all, [](const remedy_effect& e) {
    return e.remedy.kind == remedy_kind::preload &&
           std::filesystem::path(e.remedy.side.library).filename() == malloc_libraries.front().file;
  });
}

std::optional<std::size_t> page_policy_of(const remedy_measurement& all, double threshold) {
  const auto policy = best_of(
      all, [](const remedy_effect& e) { return e.remedy.kind == remedy_kind::pages && !e.remedy.option.empty(); });
  if (!policy) return {};
  const auto alone = heap_alone(all);
  const auto mean = [&all](std::size_t n) { return all.remedies[n].deciding().effect.log_ratio.mean; };
  return alone && mean(*policy) + std::log1p(threshold) <= mean(*alone) ? policy : std::nullopt;
}

void choose_plan(remedy_measurement& all, const std::function<comparison(std::size_t, std::size_t)>& compare) {
  const bool has_rest = works(all, all.rest_of_plan);
  if (has_rest && works(all, all.whole_plan)) all.whole_over_rest = compare(*all.rest_of_plan, *all.whole_plan);
  all.by_plan = !has_rest || takes_less(all.whole_over_rest) ? all.whole_plan : all.rest_of_plan;
  if (!works(all, all.by_plan)) all.by_plan.reset();
  const bool has_best = works(all, all.best_without_code), has_pages = works(all, all.plan_on_pages);
  all.over_best.reset();
  if (all.by_plan && has_best) all.over_best = compare(*all.best_without_code, *all.by_plan);
  if (all.by_plan && has_pages) all.pages_over_plan = compare(*all.by_plan, *all.plan_on_pages);
  if (has_best && has_pages) all.pages_over_best = compare(*all.best_without_code, *all.plan_on_pages);
  if (has_best && works(all, all.whole_plan) && all.best_without_code == heap_alone(all))
    all.over_heap = compare(*all.best_without_code, *all.whole_plan);
}

void decide(remedy_measurement& all, double threshold) {
  random_engine random(all.screened.runs.rounds.size());
  all.itself = effect_of_itself({&all.screened.runs, &all.confirmed.runs}, all.decides, effect_error, random);
  if (is_unfit(all.itself, threshold)) {
    all.decision = remedy_decision::unfit;
  } else if (all.winner = winner_of(all); all.winner) {
    all.decision = remedy_decision::use_winner;
  } else if (is_open(all, threshold)) {
    all.decision = remedy_decision::inconclusive;
    all.wanted = rounds_wanted(all, threshold);
  } else {
    all.decision = remedy_decision::change_nothing;
  }
  choose_groups(all);
  sort_by_gain(all);
}

}  // namespace ashlar::cli
