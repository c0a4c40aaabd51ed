// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the four words for an effect: one meaning each.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/rounds/verdict.hpp"

namespace {

using namespace ashlar::cli;

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
                       {percent(-10.7, -17.4, 0.1), "undecided",
                        "undecided: -10.7 % [-17.4, +0.1]; anything above 1.2 % would have been seen"},
                       {percent(0, -2, 2), "undecided",
                        "undecided: +0.0 % [-2.0, +2.0]; anything above 1.2 % would have been seen"}}) {
    const finding found = verdict_of(r.effect, 0.01);
    EXPECT_STREQ(verdict_word(found), r.word) << r.text;
    EXPECT_EQ(verdict_named(r.word), found);
    EXPECT_EQ(verdict_text(found, r.effect, 0.012), r.text);
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
  EXPECT_EQ(verdict_text(finding::undecided, {0, -0.9, 0.9}, 1.2),
            "undecided: +0.0 % [-59.3, +146]; neither twice nor half the time would have been seen: the runs vary too "
            "much");
}

}  // namespace
