// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each pair routes a random choice of groups, then the others, or the other way round. Solves the normal equations by
// elimination, with their inverse for the variances.
#include "cli/verify/attribute.hpp"

#include <cmath>

#include "cli/rounds/text.hpp"
#include "cli/routes/handover.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using matrix = std::vector<std::vector<double>>;

double sign_of(bool is_in) { return is_in ? 1 : -1; }

[[noreturn]] void fail_to_distinguish() {
  throw std::runtime_error("too few pairs to distinguish the groups: more --runs or a larger --budget would do");
}

/// Returns: products of the columns; on its right the unit matrix.
matrix normal_equations(const std::vector<part_choice>& choices, std::size_t parts) {
  matrix m(parts, std::vector<double>(2 * parts));
  for (std::size_t i = 0; i < parts; ++i) {
    for (std::size_t j = 0; j < parts; ++j)
      for (const part_choice& choice : choices) m[i][j] += sign_of(choice[i]) * sign_of(choice[j]);
    m[i][parts + i] = 1;
  }
  return m;
}

std::size_t largest_in(const matrix& m, std::size_t column) {
  std::size_t best = column;
  for (std::size_t row = column; row < m.size(); ++row)
    if (std::abs(m[row][column]) > std::abs(m[best][column])) best = row;
  return best;
}

/// Gauss and Jordan: the right half becomes the inverse.
void invert(matrix& m) {
  for (std::size_t column = 0; column < m.size(); ++column) {
    std::swap(m[column], m[largest_in(m, column)]);
    const double pivot = m[column][column];
    if (std::abs(pivot) < 1e-9) fail_to_distinguish();
    for (double& v : m[column]) v /= pivot;
    for (std::size_t row = 0; row < m.size(); ++row) {
      const double by = m[row][column];
      if (row == column || by == 0) continue;
      for (std::size_t i = 0; i < m[row].size(); ++i) m[row][i] -= by * m[column][i];
    }
  }
}

double explained(const part_choice& choice, const std::vector<double>& effects) {
  double sum = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) sum += sign_of(choice[i]) * effects[i];
  return sum;
}

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

part_choice choose_parts(std::size_t parts, random_engine& random) {
  part_choice choice(parts);
  for (std::size_t i = 0; i < parts; ++i) choice[i] = draw_below(random, 2) == 1;
  return choice;
}

part_choice others_than(part_choice choice) {
  choice.flip();
  return choice;
}

std::vector<mean_interval> part_effects(const std::vector<part_choice>& choices, const std::vector<double>& log_ratios,
                                        double error) {
  const std::size_t pairs = choices.size(), parts = choices.empty() ? 0 : choices.front().size();
  if (parts == 0 || pairs < least_pairs_for(parts)) fail_to_distinguish();
  matrix m = normal_equations(choices, parts);
  invert(m);
  std::vector<double> products(parts), effects(parts);
  for (std::size_t i = 0; i < parts; ++i)
    for (std::size_t p = 0; p < pairs; ++p) products[i] += sign_of(choices[p][i]) * log_ratios[p];
  for (std::size_t i = 0; i < parts; ++i)
    for (std::size_t j = 0; j < parts; ++j) effects[i] += m[i][parts + j] * products[j];
  double squares = 0;
  for (std::size_t p = 0; p < pairs; ++p) squares += std::pow(log_ratios[p] - explained(choices[p], effects), 2);
  const auto freedom = static_cast<double>(pairs - parts);
  const double t = student_quantile(error / static_cast<double>(parts), freedom);
  std::vector<mean_interval> all;
  for (std::size_t i = 0; i < parts; ++i) {
    const double width = t * std::sqrt(squares / freedom * m[i][parts + i]);
    all.push_back({effects[i], effects[i] - width, effects[i] + width});
  }
  return all;
}

plan_parts parts_of(std::size_t groups, std::size_t pairs) {
  plan_parts parts(std::min(groups, std::max<std::size_t>(2, pairs / least_pairs_of_part)));
  for (std::size_t i = 0; i < groups; ++i) parts[std::min(i, parts.size() - 1)].push_back(i);
  return parts;
}

attribution attribute(program_player& player, const attribution_request& request, const experiment_plan& setting) {
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
       .most = std::min(wanted_pairs * count, most_rounds),
       .title = "groups: "},
      [&](std::size_t number) {
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

bool group_effect::stays(double threshold) const noexcept { return verdict_of(log_ratio, threshold) == finding::gain; }

std::string attribution_text(const attribution& found, double threshold) {
  text_table table({{"group", side::left}, {"effect (99 % together)"}, {"verdict", side::left}});
  for (const group_effect& part : found.parts)
    table.add(
        {shorten(part.name, 40), change_text(part.log_ratio), verdict_word(verdict_of(part.log_ratio, threshold))});
  return table.str();
}

nlohmann::json group_json(const group_effect& part, bool stays, double threshold) {
  const mean_interval& e = part.log_ratio;
  const finding verdict = verdict_of(e, threshold);
  return {{"name", part.name},
          {"groups", part.groups},
          {"ratio", std::exp(e.mean)},
          {"interval", {std::exp(e.least), std::exp(e.greatest)}},
          {"detectable", part.detectable},
          {"stays", stays},
          {"verdict", verdict_word(verdict)},
          {"text", verdict_text(verdict, e)}};
}

route_plan reduced(route_plan routes, const attribution& found, double threshold) {
  std::vector<std::size_t> kept;
  for (const group_effect& part : found.parts)
    for (const std::size_t group : part.groups) {
      routes.groups[group].evidence["measured"] = group_json(part, part.stays(threshold), threshold);
      routes.groups[group].evidence["measured"]["pairs"] = found.pairs;
      if (part.stays(threshold)) kept.push_back(group);
    }
  return groups_of(routes, kept);
}

}  // namespace ashlar::cli
