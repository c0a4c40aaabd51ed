// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simulated experiments of verify on a B that is rarely slow, which must not pass as level. ASHLAR_STRESS=4 has
// four times as many, and prints the table of docs/verify-trials.md.
#include <cstdlib>

#include "cli/tests/noise.hpp"
#include "cli/tests/texts.hpp"
#include "cli/verify/experiment.hpp"
#include "tests/support/stress.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::starts, ashlar_test::ends;

/// Half a percent of normal noise.
double ms_of_run(random_engine& random) { return 100 * std::exp(0.005 * ashlar_test::normal(random)); }

struct rarely_slow {
  double share = 0;  ///< Of the runs of B.
  double by = 0;     ///< They take so much more.
};

void play(experiment& all, const rarely_slow& b, random_engine& random) {
  const auto run = [](double ms) { return run_figures{ms, ms, 0, ms, 4096, 4096, 1}; };
  program_round& round = all.runs.rounds.emplace_back();
  if (repeats_first(all.runs.rounds.size() - 1)) round.again = run(ms_of_run(random));
  const double of_a = ms_of_run(random), of_b = ms_of_run(random);
  round.sides = {run(of_a), run(of_b * (ashlar_test::uniform(random) < b.share ? 1 + b.by : 1))};
  round.spans.resize(2);
}

/// As `run_experiment` plays it.
experiment experiment_with(const rarely_slow& b, const experiment_plan& plan, random_engine& random,
                           std::size_t affordable = most_rounds) {
  experiment all;
  while (all.runs.rounds.size() < pilot_rounds) play(all, b, random);
  const std::size_t pairs = std::min(pairs_after(all.runs, plan), affordable);
  while (all.runs.rounds.size() < pairs) play(all, b, random);
  return all;
}

/// The budget has room for 100 pairs.
double percentage(verdict wanted, const rarely_slow& b, std::size_t trials, const experiment_plan& plan = {}) {
  random_engine random(2026);
  std::size_t found = 0;
  for (std::size_t i = 0; i < trials; ++i)
    found += conclude(experiment_with(b, plan, random, 100), plan).decision == wanted ? 1 : 0;
  return 100 * static_cast<double>(found) / static_cast<double>(trials);
}

/// No slow run is met in (1 - 1/20)^60 = 4.6 % of the experiments with 60 pairs.
TEST(slow_runs, one_in_twenty_that_takes_twice_the_time_is_seldom_level) {
  EXPECT_LE(percentage(verdict::level, {0.05, 1.0}, ashlar_test::stress_rounds(200)), 7);
}

TEST(slow_runs, equal_programs_are_level_all_the_same) {
  EXPECT_GE(percentage(verdict::level, {}, ashlar_test::stress_rounds(50)), 95);
}

TEST(slow_runs, table) {
  if (std::getenv("ASHLAR_STRESS") == nullptr) GTEST_SKIP() << "a table for people";
  experiment_plan of_twelve;
  of_twelve.rare = 0.25;
  for (const rarely_slow& b : {rarely_slow{}, {0.02, 0.5}, {0.05, 0.3}, {0.05, 1.0}, {0.1, 0.3}, {0.2, 0.1}})
    std::printf("| %.0f %% of runs +%.0f %% | %+.1f %% | %.0f %% | %.0f %% | %.0f %% |\n", 100 * b.share, 100 * b.by,
                100 * std::expm1(b.share * std::log1p(b.by)),
                percentage(verdict::level, b, ashlar_test::stress_rounds(100), of_twelve),
                percentage(verdict::level, b, ashlar_test::stress_rounds(100)),
                percentage(verdict::loss, b, ashlar_test::stress_rounds(100)));
}

TEST(slow_runs, that_the_pairs_would_not_have_met_are_named) {
  random_engine random(3);
  const experiment all = experiment_with({}, {}, random);
  ASSERT_EQ(all.runs.rounds.size(), 60U);
  const std::string words = verdict_sentence(conclude(all, {}), {});
  EXPECT_TRUE(starts(words, "Level: "));
  EXPECT_TRUE(ends(words, ", within 1.0 %; a slow run rarer than 1 in 20 would not have been met."));
  const nlohmann::json j = verify_json(conclude(all, {}), all, {});
  EXPECT_EQ(j["rare"], 0.05);
  EXPECT_EQ(j["rarest_met"], 0.05);
}

TEST(slow_runs, that_too_few_pairs_would_meet_leave_equality_open) {
  random_engine random(3);
  const experiment few = experiment_with({}, {}, random, 25);
  const verification v = conclude(few, {});
  EXPECT_EQ(v.decision, verdict::undecided);
  EXPECT_EQ(v.wanted, 60U);
  EXPECT_TRUE(ends(
      verdict_sentence(v, {}),
      " after 25 pairs, within 1.0 %, but a slow run rarer than 1 in 8 would not have been met; about 60 pairs (--runs "
      "60, or --rare 12%) would decide."));
  experiment_plan looser;
  looser.rare = 0.12;
  EXPECT_EQ(conclude(few, looser).decision, verdict::level);
  EXPECT_EQ(pairs_that_meet(0.05), 60U);
  EXPECT_EQ(pairs_that_meet(0.12), 25U);
  EXPECT_EQ(pairs_that_meet(1), 3U);
}

TEST(slow_runs, set_the_number_of_pairs_with_each_input_as_often_as_the_others) {
  random_engine random(3);
  experiment_plan plan;
  plan.inputs = {"1", "2", "3", "4", "5", "6", "7"};
  EXPECT_EQ(experiment_with({}, plan, random).runs.rounds.size(), 63U);
  plan.rare = 1;
  EXPECT_EQ(experiment_with({}, plan, random).runs.rounds.size(), 14U);
}

}  // namespace
