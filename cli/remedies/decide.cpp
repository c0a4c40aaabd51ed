// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A remedy that gains wins; one that only may leaves the question open.
#include "cli/remedies/experiment.hpp"

#include <cmath>
#include <filesystem>

#include "cli/rounds/text.hpp"
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
  return e.failure.empty() && e.remedy.kind != remedy_kind::router && e.deciding().found == finding::undecided &&
         e.deciding().effect.pairs > 0 && e.deciding().effect.log_ratio.mean <= -std::log1p(threshold);
}

/// The best of several noisy figures flatters: where some were measured again, only those may win.
bool may_win(const remedy_measurement& all, const remedy_effect& e) {
  return e.deciding().found == finding::gain && (all.confirmed.runs.rounds.empty() || e.confirmed);
}

/// Effects: names the fastest without a plan. Returns: the winner.
std::optional<std::size_t> winner_of(remedy_measurement& all, double threshold, double memory_price) {
  all.fastest = best_of(all, [&all](const remedy_effect& e) { return is_without_plan(e) && may_win(all, e); });
  const auto best = all.fastest ? named_without_code(all, threshold, memory_price) : std::nullopt;
  const bool on_pages = gains(all, all.plan_on_pages) && takes_less(all.pages_over_plan);
  if (on_pages && (!best || is_gain(all.pages_over_best))) return all.plan_on_pages;
  return gains(all, all.by_plan) && (!best || is_gain(all.over_best)) ? all.by_plan : best;
}

std::size_t rounds_wanted(const remedy_measurement& all, double threshold) {
  const auto best = best_of(all, [threshold](const remedy_effect& e) { return may_gain(e, threshold); });
  const std::size_t wanted = best ? pairs_to_decide(all.remedies[*best].deciding().effect, threshold) : 0;
  return std::max({wanted, all.least_rounds, all.least_confirming});
}

bool is_open(const remedy_measurement& all, double threshold) {
  if (all.screened.runs.rounds.size() < all.least_rounds) return true;
  return std::any_of(all.remedies.begin(), all.remedies.end(), [&all, threshold](const remedy_effect& e) {
    const bool gains_unconfirmed = e.failure.empty() && e.remedy.kind != remedy_kind::router &&
                                   e.deciding().found == finding::gain && !may_win(all, e);
    return may_gain(e, threshold) || gains_unconfirmed;
  });
}

std::string why_no_plan(const remedy_measurement& all) {
  if (all.decision == remedy_decision::unfit) return "the machine is unfit, so that nothing is shown to gain";
  if (!works(all, all.by_plan)) return "no group of sites was measured to gain";
  const remedy_effect& plan = all.remedies[*all.by_plan];
  if (all.fastest && !all.over_best && gains(all, all.by_plan))
    return fmt::format("{} was not compared with {}", plan.remedy.name,
                       all.remedies[*all.best_without_code].remedy.name);
  const bool is_over_best = all.fastest && all.over_best && !is_gain(all.over_best);
  return fmt::format("{} is not shown to gain{}: {}", plan.remedy.name,
                     is_over_best ? " over " + all.remedies[*all.best_without_code].remedy.name : "",
                     verdict_text(is_over_best ? *all.over_best : plan.deciding()));
}

/// Returns: of the groups of the winner those that stay: all that were measured in it, but for each whose own effect is
/// a loss; those that gain, where no plan of these alone was tried. `gaining`: all groups if none was measured.
std::vector<std::size_t> groups_of_winner(const remedy_measurement& all, const std::vector<std::size_t>& gaining,
                                          double threshold) {
  if (!all.rest_of_plan && !gaining.empty()) return gaining;
  std::vector<std::size_t> stay = all.remedies[*all.winner].groups;
  for (const group_effect& part : all.groups)
    if (verdict_of(part.log_ratio, threshold) == finding::loss)
      std::erase_if(stay, [&part](std::size_t n) { return std::ranges::find(part.groups, n) != part.groups.end(); });
  return stay;
}

/// A plan that does not win has no groups: who follows it would lose to the remedy that the page names.
void choose_groups(remedy_measurement& all, double threshold) {
  if (!all.whole_plan) return;
  const std::vector<std::size_t> gaining = std::exchange(all.kept, {});
  const bool is_on_pages = all.winner && all.winner == all.plan_on_pages;
  if (is_on_pages || (all.winner && all.winner == all.by_plan)) {
    all.kept = groups_of_winner(all, gaining, threshold);
    if (all.kept.empty()) all.no_plan = "each group of sites was measured to lose";
    else if (all.kept.size() != all.remedies[*all.winner].groups.size())
      all.notes.emplace_back("Groups that are not measured to gain leave the plan, which was measured with them.");
    if (is_on_pages)
      all.notes.emplace_back("The groups of that plan stay; its file holds no page policy: give --option " +
                             all.remedies[*all.winner].remedy.option + ".");
    return;
  }
  if (const remedy_effect& plan = all.remedies[*all.whole_plan]; !plan.failure.empty() && !all.by_plan) {
    all.plan_failure = plan.failure;
    all.no_plan = "routing fails: " + plan.failure;
    all.notes.emplace_back("The program fails under the plan: no group of it is left.");
    return;
  }
  all.no_plan = why_no_plan(all);
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
  for (std::optional<std::size_t>* n : {&all.winner, &all.fastest, &all.best_without_code, &all.frugal, &all.whole_plan,
                                        &all.empty_plan, &all.rest_of_plan, &all.by_plan, &all.plan_on_pages})
    if (*n) *n = static_cast<std::size_t>(std::find(order.begin(), order.end(), **n) - order.begin());
}

}  // namespace

std::optional<std::size_t> least_memory_of(const remedy_measurement& all, double threshold, double price,
                                           const std::function<bool(const remedy_effect&)>& may) {
  const auto fastest = best_of(all, may);
  if (!fastest) return {};
  const double slowest =
      price > 0 ? std::numeric_limits<double>::infinity() : all.remedies[*fastest].deciding().effect.log_ratio.greatest;
  const auto competes = [&](const remedy_effect& e) {
    return may(e) && e.deciding().effect.log_ratio.least <= slowest;
  };
  const auto cost = [price](const remedy_effect& e) {
    return e.measures[run_measure::peak].effect.log_ratio.mean + price * e.deciding().effect.log_ratio.mean;
  };
  double least = cost(all.remedies[*fastest]);
  for (const remedy_effect& e : all.remedies)
    if (e.failure.empty() && e.deciding().effect.pairs != 0 && competes(e)) least = std::min(least, cost(e));
  return best_of(all, [&](const remedy_effect& e) { return competes(e) && cost(e) <= least + std::log1p(threshold); });
}

bool is_promising(const remedy_measurement& all, double threshold) {
  return std::any_of(all.remedies.begin(), all.remedies.end(), [threshold](const remedy_effect& e) {
    return may_gain(e, threshold) ||
           (e.failure.empty() && e.remedy.kind != remedy_kind::router && e.deciding().found == finding::gain);
  });
}

bool is_heap_alone(const program_remedy& remedy) {
  return remedy.kind == remedy_kind::preload &&
         std::filesystem::path(remedy.side.library).filename().string().starts_with(malloc_libraries.front().file);
}

std::optional<std::size_t> heap_alone(const remedy_measurement& all) {
  return best_of(all, [](const remedy_effect& e) { return is_heap_alone(e.remedy); });
}

std::optional<std::size_t> page_policy_of(const remedy_measurement& all, double threshold) {
  const auto policy = best_of(
      all, [](const remedy_effect& e) { return e.remedy.kind == remedy_kind::pages && !e.remedy.option.empty(); });
  if (!policy) return {};
  const auto alone = heap_alone(all);
  const auto mean = [&all](std::size_t n) { return all.remedies[n].deciding().effect.log_ratio.mean; };
  return alone && mean(*policy) + std::log1p(threshold) <= mean(*alone) ? policy : std::nullopt;
}

std::optional<std::size_t> named_without_code(const remedy_measurement& all, double threshold, double memory_price) {
  const auto named = least_memory_of(all, threshold, memory_price,
                                     [&all](const remedy_effect& e) { return is_without_plan(e) && may_win(all, e); });
  return named ? named : best_of(all, is_without_plan);
}

void choose_plan(remedy_measurement& all, double threshold, double memory_price,
                 const std::function<comparison(std::size_t, std::size_t)>& compare) {
  const bool has_rest = works(all, all.rest_of_plan);
  if (has_rest && works(all, all.whole_plan)) all.whole_over_rest = compare(*all.rest_of_plan, *all.whole_plan);
  all.by_plan = !has_rest || is_gain(all.whole_over_rest) ? all.whole_plan : all.rest_of_plan;
  if (!works(all, all.by_plan)) all.by_plan.reset();
  all.best_without_code = named_without_code(all, threshold, memory_price);
  const bool has_best = works(all, all.best_without_code), has_pages = works(all, all.plan_on_pages);
  all.over_best.reset();
  if (all.by_plan && has_best) all.over_best = compare(*all.best_without_code, *all.by_plan);
  if (all.by_plan && has_pages) all.pages_over_plan = compare(*all.by_plan, *all.plan_on_pages);
  if (has_best && has_pages) all.pages_over_best = compare(*all.best_without_code, *all.plan_on_pages);
  if (const auto heap = heap_alone(all); heap && all.remedies[*heap].confirmed && works(all, all.whole_plan))
    all.over_heap = compare(*heap, *all.whole_plan);
  if (works(all, all.empty_plan) && all.remedies[*all.empty_plan].confirmed && works(all, all.whole_plan))
    all.over_empty = compare(*all.empty_plan, *all.whole_plan);
}

void decide(remedy_measurement& all, double threshold, double memory_price) {
  random_engine random(all.screened.runs.rounds.size());
  all.itself = effect_of_itself({&all.screened.runs, &all.confirmed.runs}, all.decides, effect_error, random);
  if (is_unfit(all.itself, threshold)) {
    all.decision = remedy_decision::unfit;
  } else if (all.winner = winner_of(all, threshold, memory_price); all.winner) {
    all.decision = remedy_decision::use_winner;
  } else if (is_open(all, threshold)) {
    all.decision = remedy_decision::undecided;
    all.wanted = rounds_wanted(all, threshold);
  } else {
    all.decision = remedy_decision::change_nothing;
  }
  choose_groups(all, threshold);
  sort_by_gain(all);
}

}  // namespace ashlar::cli
