// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each pair routes a random choice of groups, then the others, or the other way round.
#include "cli/verify/attribute.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/routes/handover.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"
#include "cli/verify/text.hpp"
#include "cli/verify/verdict.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t wanted_pairs = 25;  // of each part

using clock = std::chrono::steady_clock;

route_plan chosen(const route_plan& routes, const plan_parts& parts, const part_choice& choice) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < choice.size(); ++i)
    if (choice[i]) numbers.insert(numbers.end(), parts[i].begin(), parts[i].end());
  return groups_of(routes, numbers);
}

/// Runs the program on one input after the other, and compares each run with the first one of A.
class half_runner {
public:
  half_runner(const experiment_plan& setting, const route_plan& routes, const plan_parts& parts)
      : setting_(&setting), routes_(&routes), parts_(&parts), random_(setting.seed), inputs_(setting.inputs) {
    if (inputs_.empty()) inputs_.emplace_back();
    for (const std::string& path : inputs_) {
      first_.push_back(run(setting.a, path));
      if (first_.back().status >= 126) throw std::runtime_error("the program " + ending_of(first_.back()));
    }
  }

  /// Returns: log of the value with the choice to the value with the others. The order of the runs is random.
  double play(const part_choice& choice, std::size_t number) {
    const std::size_t input = number % inputs_.size();
    const std::array<part_choice, 2> halves = {choice, others_than(choice)};
    std::array<double, 4> values{};  // of the halves, then of A
    const bool repeats = setting_->itself && repeats_a(number);
    std::vector<std::size_t> order = {0, 1};
    if (repeats) order.insert(order.end(), {2, 3});
    for (const std::size_t i : shuffled(std::move(order), random_))
      values[i] = i < 2 ? value_with(halves[i], input) : value_of_a(input);
    if (repeats) {
      first_values_.push_back(values[2]);
      again_values_.push_back(values[3]);
    }
    return log_ratios({values[1]}, {values[0]}, facts_of(setting_->decides).floor).front();
  }

  /// Returns: A against A.
  [[nodiscard]] paired_effect itself() {
    return effect_of_itself(first_values_, again_values_, setting_->decides, setting_->error, random_);
  }

  [[nodiscard]] random_engine& random() noexcept { return random_; }

private:
  double value_of_a(std::size_t input) {
    const program_run done = run(setting_->a, inputs_[input]);
    if (done.killed || done.status != first_[input].status)
      throw std::runtime_error("the program does not end the same way each time: it " + ending_of(done));
    return value_of(figures_of(done), setting_->decides);
  }

  double value_with(const part_choice& choice, std::size_t input) {
    program_side side = setting_->b;
    side.variables = {{route_variable, handover_text(chosen(*routes_, *parts_, choice), false)}};
    const program_run done = run(side, inputs_[input]);
    if (const std::string difference = difference_of(done, first_[input]); !difference.empty())
      throw different_program("with some groups routed, " + difference);
    return value_of(figures_of(done), setting_->decides);
  }

  program_run run(const program_side& side, const std::string& path) { return run_side(side, path, random_); }

  const experiment_plan* setting_;
  const route_plan* routes_;
  const plan_parts* parts_;
  random_engine random_;
  std::vector<std::string> inputs_;
  std::vector<program_run> first_;
  std::vector<double> first_values_;  // of A
  std::vector<double> again_values_;
};

/// As of a plan that `ashlar advise` has measured.
nlohmann::json evidence_of(const mean_interval& effect, std::size_t pairs) {
  const median_interval ratio = effect.ratio();
  return {{"ratio", ratio.median},
          {"interval", {ratio.least, ratio.greatest}},
          {"pairs", pairs},
          {"text", change_text(ratio)}};
}

bool is_kept(const mean_interval& effect) { return effect.greatest < 0; }

std::string in_percent(double log_effect) { return fmt::format("{:+.1f}", 100 * std::expm1(log_effect)); }

}  // namespace

plan_parts parts_of(std::size_t groups, std::size_t pairs) {
  plan_parts parts(std::min(groups, std::max<std::size_t>(2, pairs / least_pairs_of_part)));
  for (std::size_t i = 0; i < groups; ++i) parts[std::min(i, parts.size() - 1)].push_back(i);
  return parts;
}

plan_parts each_group(const route_plan& routes) {
  plan_parts parts;
  for (std::size_t i = 0; i < routes.groups.size(); ++i) parts.push_back({i});
  return parts;
}

attribution attribute(const experiment_plan& setting, const route_plan& routes, const plan_parts& parts, double error,
                      const experiment_progress& progress) {
  const std::size_t count = parts.size();
  if (count < 2) throw std::runtime_error("a plan of fewer than two groups needs no attribution: verify it whole");
  if (setting.pairs != 0 && setting.pairs < least_pairs_for(count))
    throw std::runtime_error(
        fmt::format("{} at least {} (--runs {}), and tell more from {}", counted(count, "group needs", "groups need"),
                    counted(least_pairs_for(count), "pair"), least_pairs_for(count), wanted_pairs * count));
  const std::size_t wanted = setting.pairs != 0 ? setting.pairs : std::min(wanted_pairs * count, most_rounds);
  const auto start = clock::now();
  half_runner runner(setting, routes, parts);
  std::vector<part_choice> choices;
  std::vector<double> ratios;
  const auto spent = [&] {
    return setting.pairs == 0 && std::chrono::duration<double>(clock::now() - start).count() > setting.seconds;
  };
  while (ratios.size() < wanted && !spent()) {
    progress(ratios.size() + 1, wanted);
    choices.push_back(choose_parts(count, runner.random()));
    ratios.push_back(runner.play(choices.back(), ratios.size()));
  }
  return {part_effects(choices, ratios, error), ratios.size(), runner.itself()};
}

std::string attribution_text(const attribution& found, const route_plan& routes) {
  text_table table({{"group", side::left}, {"effect"}, {"interval (99 % together)"}, {"", side::left}});
  for (std::size_t i = 0; i < found.effects.size(); ++i) {
    const mean_interval& e = found.effects[i];
    table.add({shorten(routes.groups[i].name, 40), in_percent(e.mean) + " %",
               fmt::format("[{}, {}]", in_percent(e.least), in_percent(e.greatest)), is_kept(e) ? "keep" : "drop"});
  }
  return table.str();
}

route_plan reduced(const route_plan& routes, const attribution& found) {
  route_plan measured = routes;
  part_choice kept;
  for (std::size_t i = 0; i < found.effects.size(); ++i) {
    measured.groups[i].evidence["measured"] = evidence_of(found.effects[i], found.pairs);
    kept.push_back(is_kept(found.effects[i]));
  }
  return chosen(measured, each_group(measured), kept);
}

}  // namespace ashlar::cli
