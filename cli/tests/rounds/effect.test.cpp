// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of effects, verdicts, numbers of pairs and modes on simulated runs with fixed seeds.
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/time.h>

#include "cli/rounds/effect.hpp"
#include "cli/rounds/program.hpp"
#include "cli/rounds/rounds.hpp"
#include "cli/rounds/text.hpp"
#include "cli/tests/noise.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::normal, ashlar_test::uniform;

constexpr double one_percent = 0.01;
constexpr double five_percent = 0.05;
constexpr int trials = 200;

using noise = std::function<double(random_engine&)>;

double exponential(random_engine& random) { return -std::log(uniform(random)); }

/// Of the log time of one run.
double quiet(random_engine& random) { return 0.02 * normal(random); }
/// Other programs slow one run in five down, by a fifth on average.
double loaded(random_engine& random) {
  return 0.02 * normal(random) + (uniform(random) < 0.2 ? 0.2 * exponential(random) : 0);
}
/// Two modes, as huge pages have them.
double bimodal(random_engine& random) { return 0.01 * normal(random) + (uniform(random) < 0.5 ? 0.3 : 0); }

std::vector<double> ratios_of(std::size_t pairs, double effect, const noise& run, random_engine& random) {
  std::vector<double> ratios(pairs);
  for (double& r : ratios) r = effect + run(random) - run(random);
  return ratios;
}

/// As `ashlar verify` does: a pilot, whose deviation sets the number; all pairs count.
paired_effect experiment_with(double effect, const noise& run, std::size_t affordable, random_engine& random) {
  std::vector<double> ratios = ratios_of(6, effect, run, random);
  const std::size_t planned = std::min(planned_pairs(deviation_of(ratios), ratios.size(), one_percent), affordable);
  while (ratios.size() < planned) ratios.push_back(effect + run(random) - run(random));
  return effect_of(ratios, five_percent, random);
}

int count(finding wanted, const std::function<finding(random_engine&)>& trial) {
  random_engine random(2026);
  int found = 0;
  for (int i = 0; i < trials; ++i) found += trial(random) == wanted ? 1 : 0;
  return found;
}

TEST(paired_effect, equal_programs_are_told_apart_in_at_most_5_percent_of_trials) {
  for (const noise& run : {noise(quiet), noise(loaded), noise(bimodal)}) {
    random_engine random(2026);
    int alarms = 0;
    for (std::size_t i = 0; i < trials; ++i) {
      const finding found = verdict_of(experiment_with(0, run, i % 2 == 0 ? 12 : 30, random), one_percent);
      alarms += found == finding::gain || found == finding::loss ? 1 : 0;
    }
    EXPECT_LE(alarms, trials / 20);
  }
}

TEST(paired_effect, the_interval_covers_the_effect_in_about_95_percent_of_trials) {
  struct entry {
    noise run;
    std::size_t pairs;
  };
  for (const auto& [run, pairs] : {entry{quiet, 12}, entry{quiet, 40}, entry{loaded, 40}, entry{bimodal, 20}}) {
    random_engine random(7);
    int held = 0;
    for (int i = 0; i < trials; ++i) {
      const mean_interval found = effect_of(ratios_of(pairs, -0.1, run, random), five_percent, random).log_ratio;
      held += found.least <= -0.1 && -0.1 <= found.greatest ? 1 : 0;
    }
    EXPECT_GE(held, 182) << pairs;  // 190 expected
    EXPECT_LE(held, 199) << pairs;
  }
}

TEST(paired_effect, three_percent_are_found_in_40_pairs_at_a_deviation_of_2_percent) {
  const auto of = [](double effect) {
    return [effect](random_engine& random) {
      return verdict_of(effect_of(ratios_of(40, std::log1p(effect), quiet, random), five_percent, random), one_percent);
    };
  };
  EXPECT_GE(count(finding::gain, of(-0.03)), trials - 2);
  EXPECT_GE(count(finding::loss, of(0.03)), trials - 2);
}

TEST(paired_effect, equality_within_the_threshold_is_found_with_the_planned_pairs) {
  const auto trial = [](random_engine& random) {
    return verdict_of(experiment_with(0, quiet, most_rounds, random), one_percent);
  };
  EXPECT_GE(count(finding::level, trial), trials * 75 / 100);
}

TEST(paired_effect, too_few_pairs_for_the_noise_decide_nothing_and_the_predicted_number_does) {
  const auto undecided = [](std::size_t pairs) {
    return count(finding::undecided, [pairs](random_engine& random) {
      return verdict_of(effect_of(ratios_of(pairs, 0.03, loaded, random), five_percent, random), one_percent);
    });
  };
  random_engine random(3);
  paired_effect known;
  known.pairs = 12;
  known.log_ratio.mean = 0.03;
  known.deviation = deviation_of(ratios_of(20000, 0, loaded, random));
  const std::size_t predicted = pairs_to_decide(known, one_percent);
  EXPECT_GE(undecided(12), trials * 8 / 10);
  const int still_undecided = undecided(predicted);  // 20 % expected
  EXPECT_GE(still_undecided, trials / 10);
  EXPECT_LE(still_undecided, trials * 3 / 10);
}

TEST(paired_effect, pairs_that_decide_may_show_a_difference_below_the_threshold) {
  paired_effect known;
  known.pairs = 12;
  known.log_ratio.mean = 0.009;
  known.deviation = 0.02;
  EXPECT_LE(pairs_to_decide(known, one_percent), 60u);
}

TEST(paired_effect, the_detectable_effect_is_about_3_deviations_of_the_mean) {
  paired_effect e;
  e.pairs = 16;
  e.deviation = 0.04;
  EXPECT_NEAR(e.detectable(), std::expm1((2.131 + 0.866) * 0.01), 1e-4);  // Student's t of 15
  EXPECT_EQ(planned_pairs(0, 6, one_percent), least_pairs);
  EXPECT_EQ(planned_pairs(0.02, 6, one_percent), 67U);  // ((2.571 + 1.476) * 0.02 / log 1.01)^2 = 66.2
  EXPECT_EQ(planned_pairs(1, 6, one_percent), most_rounds);
}

TEST(paired_effect, is_decided_by_interval_and_chance) {
  const auto made = [](double mean, double width, double chance) {
    paired_effect e;
    e.pairs = 20;
    e.error = five_percent;
    e.log_ratio = {mean, mean - width, mean + width};
    e.chance = chance;
    return verdict_of(e, one_percent);
  };
  EXPECT_EQ(made(-0.05, 0.02, 0.001), finding::gain);
  EXPECT_EQ(made(0.05, 0.02, 0.001), finding::loss);
  EXPECT_EQ(made(0.05, 0.02, 0.2), finding::undecided);
  EXPECT_EQ(made(0.05, 0.06, 0.001), finding::undecided);
  EXPECT_EQ(made(0.002, 0.005, 0.5), finding::level);
  EXPECT_EQ(made(0.004, 0.003, 0.001), finding::level);  // there, and too small to matter
  EXPECT_EQ(made(0.008, 0.004, 0.001), finding::loss);   // certain, and perhaps too small to matter
  EXPECT_EQ(verdict_of(paired_effect{}, one_percent), finding::undecided);
}

TEST(paired_effect, the_same_seed_gives_the_same_interval) {
  random_engine one(5), two(5);
  const std::vector<double> ratios = {0.01, 0.03, -0.02, 0.05, 0.02, 0.01, 0.04};
  const paired_effect first = effect_of(ratios, five_percent, one), second = effect_of(ratios, five_percent, two);
  EXPECT_EQ(first.log_ratio.least, second.log_ratio.least);
  EXPECT_EQ(first.chance, second.chance);
}

TEST(paired_effect, of_equal_values_is_none_and_of_values_below_the_clock_too) {
  random_engine random(1);
  const paired_effect none = effect_of(std::vector<double>(12, 0.0), five_percent, random);
  EXPECT_EQ(verdict_of(none, one_percent), finding::level);
  EXPECT_EQ(none.chance, 1);
  const paired_effect all = effect_of(std::vector<double>(12, -0.1), five_percent, random);
  EXPECT_EQ(verdict_of(all, one_percent), finding::gain);
  EXPECT_EQ(log_ratios({0, 0.5, 4}, {0.9, 0, 2}, {.floor = 1}), (std::vector<double>{0, 0, -std::log(2.0)}));
}

std::vector<double> scaled(std::vector<double> values, double by) {
  for (double& v : values) v *= by;
  return values;
}

TEST(comparison, sees_through_spells_that_both_go_through_and_not_what_is_too_small) {
  const std::vector<double> base = {10, 30, 11, 55, 10, 12, 90, 10, 11, 10, 10, 14};
  struct entry {
    double by, step, error;
    finding found;
  };
  for (const auto& [by, step, error, found] : {entry{0.9, 0, 0.01, finding::gain},
                                               {1.1, 0, 0.01, finding::loss},
                                               {0.99, 0, 0.01, finding::level},
                                               {1, 0, 0.01, finding::level},
                                               {0.9, 10, 0.01, finding::level},
                                               {0.9, 0, 1e-4, finding::undecided}}) {  // 12 pairs are too few
    random_engine random(1);
    const comparison c = compare(base, scaled(base, by), {.floor = 1, .threshold = 0.02, .step = step}, error, random);
    EXPECT_EQ(c.found, found) << by << " " << step << " " << error;
    if (step == 0) EXPECT_NEAR(std::exp(c.effect.log_ratio.mean), by, 1e-9);
    EXPECT_NEAR(c.b / c.a, by, 1e-9);
  }
  EXPECT_EQ(pairs_for_difference(0.05), 7U);
  EXPECT_EQ(pairs_for_difference(0.05 / 28), 12U);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of({}), 0);
}

/// As of 16 rivals by four measures.
TEST(comparison, of_many_that_share_the_error_is_decided_in_more_pairs_than_all_signs_are_tried_of) {
  random_engine random(1);
  const std::vector<double> base(20, 10);
  EXPECT_EQ(compare(base, scaled(base, 0.9), {}, 0.05 / 64, random).found, finding::gain);
}

/// Two-sided, from printed tables of Student's t.
TEST(student_quantile, has_the_values_of_the_tables) {
  struct entry {
    double error, freedom, t;
  };
  for (const auto& [error, freedom, t] : {entry{0.05, 1, 12.7062},
                                          {0.05, 2, 4.30265},
                                          {0.05, 3, 3.18245},
                                          {0.05, 4, 2.77645},
                                          {0.05, 5, 2.57058},
                                          {0.05, 10, 2.22814},
                                          {0.05, 30, 2.04227},
                                          {0.01, 1, 63.6567},
                                          {0.01, 2, 9.92484},
                                          {0.01, 3, 5.84091},
                                          {0.01, 10, 3.16927},
                                          {0.01, 120, 2.61742},
                                          {0.001, 1, 636.619},
                                          {0.001, 2, 31.5991},
                                          {0.001, 7, 5.40788}})
    EXPECT_NEAR(student_quantile(error, freedom) / t, 1, 1e-5) << error << " " << freedom;
}

/// Returns: times around 100, of which `share` are `apart` times as long.
std::vector<double> times(std::size_t n, double share, double apart, std::mt19937_64& random) {
  std::normal_distribution<> logarithm(0, 0.02);
  std::bernoulli_distribution is_high(share);
  std::vector<double> all(n);
  for (double& t : all) t = 100 * std::exp(logarithm(random)) * (is_high(random) ? apart : 1);
  return all;
}

int named(std::size_t n, double share, double apart) {
  std::mt19937_64 random(1);
  int found = 0;
  for (int i = 0; i < 200; ++i) found += modes_of(times(n, share, apart, random)) ? 1 : 0;
  return found;
}

TEST(modes, of_noise_are_one) {
  for (const std::size_t n : {12U, 20U, 40U, 100U}) EXPECT_LE(named(n, 0, 1), 4) << n;
}

TEST(modes, ten_deviations_apart_are_named) {
  for (const std::size_t n : {12U, 20U, 40U, 100U}) EXPECT_GE(named(n, 0.5, std::exp(0.2)), 185) << n;
  EXPECT_GE(named(40, 0.3, std::exp(0.2)), 180);
}

TEST(modes, one_slow_run_or_two_are_no_mode) {
  std::vector<double> all(20, 100);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += static_cast<double>(i) / 10;
  all[3] = all[8] = 200;
  EXPECT_FALSE(modes_of(all));
  all[11] = all[12] = 201;
  const auto found = modes_of(all);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->low.runs, 16U);
  EXPECT_EQ(found->high.runs, 4U);
  EXPECT_NEAR(found->high.centre, 200.5, 0.1);
}

TEST(modes, of_few_or_equal_or_zero_values_are_none) {
  EXPECT_FALSE(modes_of({}));
  EXPECT_FALSE(modes_of({1, 1, 1, 2, 2, 2}));
  EXPECT_FALSE(modes_of(std::vector<double>(30, 7)));
  EXPECT_FALSE(modes_of(std::vector<double>(30, 0)));
}

mean_interval percent(double mean, double least, double greatest) {
  return {std::log1p(mean / 100), std::log1p(least / 100), std::log1p(greatest / 100)};
}

TEST(verdict, has_one_meaning_for_each_interval) {
  struct row {
    mean_interval effect;
    const char *word, *text;
  };
  for (const row& r : {row{percent(-20, -21.1, -18.9), "gain", "gain: -20.0 % [-21.1, -18.9]"},
                       {percent(-0.9, -1.4, -0.4), "gain", "gain: -0.9 % [-1.4, -0.4]"},
                       {percent(5, 2, 8), "loss", "loss: +5.0 % [+2.0, +8.0]"},
                       {percent(0.9, 0.4, 1.3), "loss", "loss: +0.9 % [+0.4, +1.3]"},
                       {percent(0.1, -0.3, 0.5), "level", "level: +0.1 % [-0.3, +0.5]"},
                       {percent(-0.5, -0.8, -0.2), "level", "level: -0.5 % [-0.8, -0.2]"},
                       {percent(0.5, 0.1, 0.9), "level", "level: +0.5 % [+0.1, +0.9]"},
                       {percent(-10.7, -17.4, 0.1), "undecided", "undecided: -10.7 % [-17.4, +0.1]"},
                       {percent(0, -2, 2), "undecided", "undecided: +0.0 % [-2.0, +2.0]"}}) {
    const finding found = verdict_of(r.effect, 0.01);
    EXPECT_STREQ(verdict_word(found), r.word) << r.text;
    EXPECT_EQ(verdict_named(r.word), found);
    EXPECT_EQ(verdict_text(found, r.effect), r.text);
  }
  EXPECT_EQ(verdict_of(percent(0.5, 0.1, 0.9), 0.005), finding::loss) << "of a smaller bound";
  EXPECT_EQ(verdict_named("better"), finding::undecided);
}

TEST(verdict, of_too_few_rounds_is_undecided_without_an_interval) {
  comparison c;
  c.effect = {.pairs = 4, .log_ratio = percent(-20, -21, -19), .chance = 0.001, .error = 0.05};
  EXPECT_EQ(verdict_of(c.effect, 0.01), finding::undecided);
  EXPECT_EQ(verdict_text(c), "undecided: -20.0 % on average of 4 rounds, too few for an interval");
  c.effect.pairs = 1;
  EXPECT_EQ(verdict_text(c), "not measured: too few rounds");
  c.effect.pairs = 12;
  c.found = verdict_of(c.effect, 0.01);
  EXPECT_EQ(verdict_text(c), "gain: -20.0 % [-21.0, -19.0]");
  c.effect.chance = 0.03;
  EXPECT_EQ(verdict_of(c.effect, 0.01), finding::undecided) << "the order alone may have caused it";
}

TEST(verdict, of_runs_that_vary_greatly_has_no_bound_in_percent) {
  EXPECT_EQ(verdict_text(finding::undecided, {0, -0.9, 0.9}), "undecided: +0.0 % [-59.3, +146]");
  EXPECT_EQ(seen_text(1.2), "neither twice nor half the time would have been seen: the runs vary too much");
}

TEST(rounds, are_as_many_as_the_limits_and_the_pilot_allow) {
  struct entry {
    const char* name;
    round_limits limits;
    std::size_t wanted, played, planned;
  };
  for (const entry& e :
       {entry{"exactly", {.rounds = 5, .seconds = 0}, 20, 5, 5},
        {"by the pilot", {}, 20, 20, 20},
        {"the budget has the least alone", {.seconds = 1e-9}, 20, 6, 20},
        {"the same of three", {.seconds = 1e-9, .least = 3}, 20, 3, 0},
        {"none that is estimated to exceed it", {.seconds = 1, .least = 0, .seconds_of_round = 2}, 20, 0, 0},
        {"one that is estimated to fit", {.seconds = 1e-9, .least = 0, .seconds_of_round = 1e-9}, 20, 1, 0},
        {"no more than the most", {.most = 9}, 0, 9, 0}}) {
    std::size_t calls = 0;
    const auto play = [&](std::size_t number) {
      EXPECT_EQ(number, calls++) << e.name;
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    const rounds_played done = play_rounds(e.limits, play, [&e] { return e.wanted; });
    EXPECT_EQ(done.rounds, e.played) << e.name;
    EXPECT_EQ(done.planned, e.planned) << e.name;
    EXPECT_EQ(calls, e.played) << e.name;
  }
}

/// A signal during the wait for the child's exec must not end the wait.
TEST(program_runner, a_signal_does_not_hide_that_a_program_cannot_be_started) {
  struct sigaction handler{};
  struct sigaction before{};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &handler, &before), 0);
  const itimerval often{{0, 500}, {0, 500}}, never{};
  for (int i = 0; i < 50; ++i) {
    program_runner runner({"/nonesuch/program"}, "");
    ::setitimer(ITIMER_REAL, &often, nullptr);
    EXPECT_THROW(static_cast<void>(runner.run({})), std::runtime_error);
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }
  ::sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
