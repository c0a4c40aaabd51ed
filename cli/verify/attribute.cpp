// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each pair routes a random choice of groups, then the others, or the other way round.
#include "cli/verify/attribute.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/rounds/text.hpp"
#include "cli/routes/handover.hpp"
#include "cli/routes/plan_text.hpp"
#include "cli/support/table.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t wanted_pairs = 25;  // of each part
constexpr double quantile_80 = 0.84;      // of the normal distribution

program_side half_of(const attribution_request& request, const part_choice& choice) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < choice.size(); ++i)
    if (choice[i]) numbers.insert(numbers.end(), request.parts[i].begin(), request.parts[i].end());
  program_side side = *request.routed;
  side.variables = {{route_variable, handover_text(groups_of(*request.routes, numbers), false)}};
  return side;
}

std::vector<group_effect> named(const attribution_request& request, const std::vector<mean_interval>& effects,
                                std::size_t pairs) {
  const std::size_t count = request.parts.size();
  const double t = student_quantile(request.error / static_cast<double>(count), static_cast<double>(pairs - count));
  const site_titles titles(*request.routes);
  std::vector<group_effect> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::size_t>& part = request.parts[i];
    const route_group& group = request.routes->groups[part.front()];
    const bool is_one = part.size() == 1;
    all.push_back({.name = is_one ? group.name : "the other " + counted(part.size(), "group"),
                   .groups = part,
                   .log_ratio = effects[i],
                   .detectable = std::expm1((effects[i].greatest - effects[i].mean) * (1 + quantile_80 / t)),
                   .sites = is_one ? titles.of(group) : ""});
  }
  return all;
}

}  // namespace

plan_parts parts_of(std::size_t groups, std::size_t pairs) {
  plan_parts parts(std::min(groups, std::max<std::size_t>(2, pairs / least_pairs_of_part)));
  for (std::size_t i = 0; i < groups; ++i) parts[std::min(i, parts.size() - 1)].push_back(i);
  return parts;
}

attribution attribute(program_player& player, const attribution_request& request, const experiment_plan& setting,
                      const round_progress& progress) {
  const std::size_t count = request.parts.size();
  if (count < 2) throw std::runtime_error("a plan of fewer than two groups needs no attribution: verify it whole");
  if (setting.pairs != 0 && setting.pairs < least_pairs_for(count))
    throw std::runtime_error(
        fmt::format("{} at least {} (--runs {}), and tell more from {}", counted(count, "group needs", "groups need"),
                    counted(least_pairs_for(count), "pair"), least_pairs_for(count), wanted_pairs * count));
  std::vector<part_choice> choices;
  program_rounds rounds;
  const auto check = [&](const program_run& run, std::size_t side, std::size_t input) {
    if (side >= 2) return void(player.prints_the_same(run, input));
    if (const std::string difference = difference_of(run, player.first(input)); !difference.empty())
      throw different_program("with some groups routed, " + difference);
  };
  rounds.played = play_rounds(
      {.rounds = setting.pairs,
       .seconds = setting.seconds,
       .least = 1,
       .most = std::min(wanted_pairs * count, most_rounds)},
      [&](std::size_t number, std::size_t most) {
        progress(number, most);
        choices.push_back(choose_parts(count, player.random()));
        const program_side half = half_of(request, choices.back()),
                           others = half_of(request, others_than(choices.back()));
        const bool repeats = request.repeats_first && repeats_first(number);
        rounds.rounds.push_back(
            player.play({&half, &others, repeats ? &player.as_it_is() : nullptr}, number, check, 2));
      },
      [] { return std::size_t{0}; });
  const measure_scale scale = scale_of(setting.decides, setting.threshold);
  const auto ratios = log_ratios(rounds.values(1, setting.decides), rounds.values(0, setting.decides), scale);
  return {named(request, part_effects(choices, ratios, request.error), ratios.size()), ratios.size(),
          effect_of_itself({&rounds}, setting.decides, setting.error, player.random(), 2)};
}

std::string attribution_text(const attribution& found) {
  text_table table({{"group", side::left}, {"effect (99 % together)"}, {"", side::left}});
  for (const group_effect& part : found.parts)
    table.add({shorten(part.name, 40), change_text(part.log_ratio), part.stays() ? "keep" : "drop"});
  return table.str();
}

nlohmann::json group_json(const group_effect& part, bool stays) {
  const mean_interval& e = part.log_ratio;
  return {{"name", part.name},
          {"groups", part.groups},
          {"ratio", std::exp(e.mean)},
          {"interval", {std::exp(e.least), std::exp(e.greatest)}},
          {"detectable", part.detectable},
          {"stays", stays},
          {"text", effect_text(e, part.detectable)}};
}

route_plan reduced(route_plan routes, const attribution& found) {
  std::vector<std::size_t> kept;
  for (const group_effect& part : found.parts)
    for (const std::size_t group : part.groups) {
      routes.groups[group].evidence["measured"] = group_json(part, part.stays());
      routes.groups[group].evidence["measured"]["pairs"] = found.pairs;
      if (part.stays()) kept.push_back(group);
    }
  return groups_of(routes, kept);
}

}  // namespace ashlar::cli
