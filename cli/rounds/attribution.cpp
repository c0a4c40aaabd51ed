// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves the normal equations by elimination, with their inverse for the variances.
#include "cli/rounds/attribution.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

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

}  // namespace ashlar::cli
