// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One measure decides, the others inform.
#include "cli/verify/experiment.hpp"

#include <cmath>

#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

/// The names of spans in some run of A or B.
struct span_names {
  std::vector<std::string> of_all_runs;
  std::vector<std::string> missing_in_b;
  std::vector<std::string> of_some_runs;
};

span_names names_of_spans(const std::vector<program_round>& rounds) {
  std::map<std::string, std::array<std::size_t, 2>> runs_with;  // of A, of B
  for (const program_round& round : rounds)
    for (std::size_t side = 0; side < round.spans.size(); ++side)
      for (const auto& [name, tail] : round.spans[side]) ++runs_with[name][side];
  span_names names;
  for (const auto& [name, runs] : runs_with) {
    const auto& [a, b] = runs;
    if (a == rounds.size() && b == rounds.size()) names.of_all_runs.push_back(name);
    else if (a != 0 && (a == rounds.size() || b == 0)) names.missing_in_b.push_back(name);
    else names.of_some_runs.push_back(name);
  }
  return names;
}

/// The names share the error.
std::vector<span_effect> span_effects(const std::vector<program_round>& rounds, const std::vector<std::string>& names,
                                      const experiment_plan& plan, random_engine& random) {
  std::vector<span_effect> all;
  const double error = plan.error / static_cast<double>(std::max<std::size_t>(names.size(), 1));
  for (const std::string& name : names) {
    std::array<std::vector<double>, 2> tails;
    for (const program_round& round : rounds)
      for (const std::size_t side : {0U, 1U}) tails[side].push_back(round.spans[side].at(name));
    all.push_back({name, compare(tails[0], tails[1], {.floor = 1, .threshold = plan.threshold}, error, random)});
  }
  return all;
}

/// Modes closer than the threshold do not matter.
std::optional<two_modes> modes_that_matter(const std::vector<double>& values, double threshold) {
  const auto found = modes_of(values);
  return found && found->high.centre >= found->low.centre * (1 + threshold) ? found : std::nullopt;
}

/// The tail must not lose, regardless of the mean. Without a tail to compare, or with too few pairs to tell (the
/// spans share the error), nothing shows that it is not. A rare slow run that no pair has met may be in B alone.
verdict decide(const verification& v, const experiment_plan& plan) {
  const auto& [a, b, effect, between] = v.measures[plan.decides];
  const auto is_loss = [](const span_effect& s) { return s.found.found == finding::loss; };
  const auto could_tell = [](const span_effect& s) { return s.found.effect.could_tell(); };
  if (is_unfit(v.itself, plan.threshold)) return verdict::unfit;
  if (between == finding::loss || std::ranges::any_of(v.spans, is_loss)) return verdict::loss;
  if (plan.spans && (v.spans.empty() || !v.missing_spans.empty() || !std::ranges::all_of(v.spans, could_tell)))
    return verdict::incomplete;
  if (between == finding::gain) return verdict::gain;
  const bool are_level = between == finding::level && effect.pairs >= pairs_that_meet(plan.rare);
  return are_level ? verdict::level : verdict::undecided;
}

std::size_t pairs_wanted(const comparison& main, const experiment_plan& plan) {
  const std::size_t least = pairs_that_meet(plan.rare);
  if (main.found == finding::level) return least;
  const std::size_t wanted = pairs_to_decide(main.effect, plan.threshold);
  const bool may_be_level = std::abs(main.effect.log_ratio.mean) < std::log1p(plan.threshold);
  return may_be_level ? std::max(wanted, least) : wanted;
}

}  // namespace

std::size_t pairs_after(const program_rounds& pilot, const experiment_plan& plan) {
  const std::size_t inputs = std::max<std::size_t>(plan.inputs.size(), 1);
  const std::size_t pairs =
      std::max(planned_rounds(pilot, {1}, plan.decides, plan.threshold, plan.error), pairs_that_meet(plan.rare));
  return (pairs + inputs - 1) / inputs * inputs;
}

experiment run_experiment(const experiment_plan& plan) {
  experiment all;
  std::string differs;
  program_player player(plan.a, "A", plan.inputs, plan.seed, plan.spans);
  const auto check = [&](const program_run& run, std::size_t side, std::size_t input) {
    if (side != 1) return void(all.output_varies |= !player.prints_the_same(run, input));
    if (run.status != player.first(input).status)
      throw different_program("B does not end as A does: it " + ending_of(run) + player.on_input(input));
    if (!run.same_output(player.first(input))) differs = "B prints something else than A" + player.on_input(input);
  };
  const auto refuse_other_output = [&] {
    if (!differs.empty() && !all.output_varies) throw different_program(differs);
  };
  player.begin();
  for (std::size_t i = 0; i < player.inputs(); ++i) check(player.run(plan.b, i), 1, i);
  all.first = player.first();
  all.runs.played = play_rounds(
      {.rounds = plan.pairs, .seconds = plan.seconds},
      [&](std::size_t number) {
        all.runs.rounds.push_back(player.play({&plan.a, &plan.b}, number, check));
        if (number + 1 == pilot_rounds) refuse_other_output();
      },
      [&] { return pairs_after(all.runs, plan); });
  refuse_other_output();
  return all;
}

verification conclude(const experiment& found, const experiment_plan& plan) {
  random_engine random(plan.seed);
  const program_rounds& runs = found.runs;
  verification result;
  result.measures = compare_all(runs, 0, 1, plan.threshold, plan.error, random);
  result.itself = effect_of_itself({&runs}, plan.decides, plan.error, random);
  result.modes_a = modes_that_matter(runs.values(0, plan.decides), plan.threshold);
  result.modes_b = modes_that_matter(runs.values(1, plan.decides), plan.threshold);
  span_names names = names_of_spans(runs.rounds);
  result.spans = span_effects(runs.rounds, names.of_all_runs, plan, random);
  result.missing_spans = std::move(names.missing_in_b);
  result.uneven_spans = std::move(names.of_some_runs);
  result.decision = decide(result, plan);
  if (result.decision == verdict::undecided) result.wanted = pairs_wanted(result.measures[plan.decides], plan);
  return result;
}

int exit_status_of(verdict decision) noexcept {
  constexpr detail::enum_table<verdict, int> statuses = {exit_ok,        exit_ok,      exit_loss,
                                                         exit_undecided, exit_failure, exit_unfit};
  return statuses[decision];
}

}  // namespace ashlar::cli
