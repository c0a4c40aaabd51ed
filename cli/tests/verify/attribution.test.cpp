// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that planted parts are found, each with its own effect, from runs with random halves.
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "cli/verify/attribute.hpp"

namespace {

using namespace ashlar::cli;

double normal(random_engine& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::acos(-1.0) * uniform());
}

struct made_up {
  std::vector<part_choice> choices;
  std::vector<double> log_ratios;
};

/// Of 200 runs with a deviation of `sigma`.
made_up runs_with(const std::vector<double>& effects, double sigma, random_engine& random) {
  made_up all;
  for (int pair = 0; pair < 100; ++pair) {
    const part_choice choice = choose_parts(effects.size(), random);
    double ratio = sigma * (normal(random) - normal(random));
    for (std::size_t i = 0; i < effects.size(); ++i) ratio += choice[i] ? effects[i] : -effects[i];
    all.choices.push_back(choice);
    all.log_ratios.push_back(ratio);
  }
  return all;
}

TEST(part_effects, planted_parts_are_found_but_for_1_percent_of_trials) {
  const std::vector<double> planted = {0.05, 0, -0.05, 0, 0, 0.01, 0, -0.01};
  random_engine random(21);
  int errors = 0;
  for (int trial = 0; trial < 20; ++trial) {
    const made_up runs = runs_with(planted, 0.01, random);
    const auto found = part_effects(runs.choices, runs.log_ratios, 0.01);
    for (std::size_t i = 0; i < planted.size(); ++i) {
      EXPECT_NEAR(found[i].mean, planted[i], 0.007) << i;
      const int sign = (found[i].least > 0 ? 1 : 0) - (found[i].greatest < 0 ? 1 : 0);
      errors += sign != (planted[i] > 0 ? 1 : 0) - (planted[i] < 0 ? 1 : 0) ? 1 : 0;
    }
  }
  EXPECT_LE(errors, 1);  // of 160
}

TEST(part_effects, all_intervals_together_hold_in_about_95_percent) {
  const std::vector<double> planted = {0.02, 0, -0.03, 0};
  random_engine random(5);
  int held = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const made_up runs = runs_with(planted, 0.02, random);
    const auto found = part_effects(runs.choices, runs.log_ratios, 0.05);
    bool all = true;
    for (std::size_t i = 0; i < planted.size(); ++i)
      all = all && found[i].least <= planted[i] && planted[i] <= found[i].greatest;
    held += all ? 1 : 0;
  }
  EXPECT_GE(held, 182);
}

TEST(part_effects, of_too_few_pairs_or_of_parts_that_are_always_together_are_refused) {
  EXPECT_THROW(static_cast<void>(part_effects({}, {}, 0.05)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(part_effects({{true}, {false}}, {0.1, -0.1}, 0.05)), std::runtime_error);
  const std::vector<part_choice> together(20, {true, true});
  EXPECT_THROW(static_cast<void>(part_effects(together, std::vector<double>(20), 0.05)), std::runtime_error);
  EXPECT_EQ(others_than({true, false}), (part_choice{false, true}));
}

}  // namespace
