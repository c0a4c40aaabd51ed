// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the choice among remedies, from made-up effects.
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/remedies/experiment.hpp"
#include "cli/remedies/text.hpp"
#include "cli/rounds/text.hpp"
#include "cli/tests/remedies/made_up.hpp"

namespace {

using namespace ashlar::cli;
using namespace ashlar_test::made_up;

std::string sentence_of(const remedy_measurement& m) { return remedy_sentence(m, {.command = {"program"}}); }

TEST(remedies, are_sorted_by_gain_and_the_best_without_code_wins) {
  auto m = measured(
      {{remedy_kind::pages, "pages", 1.05}, {remedy_kind::preload, "a", 0.9}, {remedy_kind::preload, "b", 0.8}});
  m.remedies.push_back({.remedy = {.name = "broken"}, .failure = "the program died"});
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::use_winner);
  std::string order;
  for (const remedy_effect& e : m.remedies) order += e.remedy.name + " ";
  EXPECT_EQ(order, "b a pages broken ");
  EXPECT_EQ(m.winner, 0U);
  EXPECT_EQ(m.best_without_code, 0U);
  EXPECT_EQ(sentence_of(m).rfind("B: -20.0 % [", 0), 0U) << sentence_of(m);
  const std::string text = remedy_text(m, {.command = {"program"}});
  EXPECT_NE(text.find("\nTo use it: to use b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("worse: +5.0 % ["), std::string::npos) << text;
  EXPECT_NE(text.find("not measured: the program died"), std::string::npos) << text;
}

TEST(remedies, a_plan_wins_where_it_gains_over_the_best_without_code_or_alone) {
  struct entry {
    double malloc;
    comparison over_best;
    const char *winner, *words;
  };
  for (const entry& e : {entry{0.9, effect_with(0.94, 0.01), "the plan", "adds to a: -6.0 % ["},
                         {0.9, effect_with(0.999, 0.01), "a", "adds nothing to a: -0.1 % ["},
                         {1, effect_with(0.85, 0.2), "the plan", "adds "}}) {
    auto m = measured({{remedy_kind::preload, "a", e.malloc}, {remedy_kind::routes, "the plan", 0.85}});
    m.over_best = e.over_best;
    decide(m, threshold);
    EXPECT_EQ(m.remedies[m.winner.value_or(9)].remedy.name, e.winner);
    const std::string text = remedy_text(m, {.command = {"program"}});
    EXPECT_NE(text.find(e.words), std::string::npos) << text;
  }
}

TEST(remedies, of_those_measured_twice_the_second_figure_decides) {
  auto m = measured({{remedy_kind::preload, "lucky", 0.7}, {remedy_kind::preload, "again", 0.8}});
  m.confirmed.runs.rounds.resize(40);
  m.remedies[1].confirmed = true;
  decide(m, threshold);
  EXPECT_EQ(m.remedies[m.winner.value_or(9)].remedy.name, "again");
  m.remedies = measured({{remedy_kind::preload, "lucky", 0.7}, {remedy_kind::preload, "again", 1}}).remedies;
  m.remedies[1].confirmed = true;
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::inconclusive) << sentence_of(m);
}

TEST(remedies, few_rounds_have_a_mean_and_no_interval) {
  auto m = measured({{remedy_kind::preload, "a", 0.9}});
  m.remedies[0].measures[run_measure::cpu] = effect_with(0.9, 0.01, 2);
  m.screened.runs.rounds.resize(2);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::inconclusive);
  const std::string text = remedy_text(m, {.command = {"program"}});
  EXPECT_NE(text.find("undecided: -10.0 % on average of 2 rounds, too few for an interval"), std::string::npos) << text;
  EXPECT_NE(text.find("average of 2 rounds, too few to tell a difference"), std::string::npos) << text;
  EXPECT_EQ(text.find('['), std::string::npos) << text;
}

TEST(remedies, a_command_line_to_use_is_one_line) {
  auto m = measured({{remedy_kind::preload, "a", 0.8}});
  m.remedies[0].remedy.side.shown = "prog '" + std::string(200, 'a') + "  b\nc' " + std::string(200, 'd');
  decide(m, threshold);
  const std::string text = remedy_text(m, {.command = {"program"}});
  EXPECT_NE(text.find("\nTo use it: " + m.remedies[0].remedy.side.shown + "\n"), std::string::npos) << text;
}

TEST(remedies, without_a_gain_nothing_is_to_change_and_what_would_have_been_seen_is_told) {
  auto m = measured({{remedy_kind::preload, "a", 1.001}, {remedy_kind::routes, "the plan", 0.999}});
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::change_nothing);
  EXPECT_EQ(exit_status_of(m.decision), 0);
  EXPECT_EQ(sentence_of(m).rfind("Change nothing: of 2 remedies the best is the plan, measured -0.1 % [", 0), 0U)
      << sentence_of(m);
  const std::string text = remedy_text(m, {.command = {"program"}});
  EXPECT_NE(text.find("change nothing: measured +0.1 % ["), std::string::npos) << text;
  EXPECT_NE(text.find("would have been seen"), std::string::npos) << text;
}

TEST(remedies, what_may_gain_is_open_with_the_rounds_that_would_decide) {
  auto m = measured({{remedy_kind::preload, "a", 0.97, 0.2}});
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::inconclusive);
  EXPECT_EQ(exit_status_of(m.decision), 4);
  EXPECT_GT(m.wanted, 40U);
  const std::string start = "Inconclusive: 40 rounds of runs in the budget of 60 s; about " + std::to_string(m.wanted);
  EXPECT_TRUE(sentence_of(m).starts_with(start + " rounds (--budget ")) << sentence_of(m);
  m.screened.runs.rounds.resize(5);  // too few for any verdict
  m.remedies[0].measures[run_measure::cpu] = effect_with(1, 0, 5);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::inconclusive);
  m.screened.runs.played.rounds = 1;
  EXPECT_TRUE(sentence_of(m).starts_with("Inconclusive: 1 round of runs in the budget of 60 s; ")) << sentence_of(m);
}

TEST(remedies, a_machine_on_which_the_program_differs_from_itself_gives_no_verdict) {
  auto m = measured({{remedy_kind::preload, "a", 0.8}}, 1.05);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::unfit);
  EXPECT_EQ(exit_status_of(m.decision), 5);
  EXPECT_FALSE(m.winner);
  EXPECT_EQ(sentence_of(m).rfind("No verdict, the machine is unfit: the program differs from itself, +5.0 % [", 0), 0U)
      << sentence_of(m);
}

TEST(remedies, groups_with_an_interval_that_holds_0_leave) {
  auto m = measured({{remedy_kind::preload, "a", 1}});
  m.groups = {{.name = "none", .log_ratio = {0.001, -0.01, 0.012}, .detectable = 0.015},
              {.name = "gain", .log_ratio = {-0.1, -0.12, -0.08}, .detectable = 0.03},
              {.name = "loss", .log_ratio = {0.05, 0.04, 0.06}, .detectable = 0.01}};
  EXPECT_FALSE(m.groups[0].stays());
  EXPECT_TRUE(m.groups[1].stays());
  EXPECT_FALSE(m.groups[2].stays());
  EXPECT_EQ(effect_text(m.groups[0].log_ratio, m.groups[0].detectable),
            "change nothing: measured +0.1 % [-1.0, +1.2]; anything above 1.5 % would have been seen");
  const std::string text = remedy_text(m, {.command = {"program"}});
  EXPECT_LT(text.find("gain  "), text.find("none  ")) << text;
  EXPECT_LT(text.find("none  "), text.find("loss  ")) << text;
}

TEST(remedies, that_were_not_tried_would_have_been_seen_as_the_median_of_those_that_were) {
  auto m = measured({{remedy_kind::preload, "a", 1, 0.01},
                     {remedy_kind::preload, "b", 1, 0.02},
                     {remedy_kind::preload, "c", 1, 0.04}});
  const auto of_remedies = seen_effect_of(m);
  ASSERT_TRUE(of_remedies);
  EXPECT_DOUBLE_EQ(of_remedies->detectable, m.remedies[1].deciding().effect.detectable());
  EXPECT_EQ(of_remedies->pairs, 40U);
  m.groups = {{.name = "g", .log_ratio = {}, .detectable = 0.02}, {.name = "h", .log_ratio = {}, .detectable = 0.04}};
  m.group_pairs = 16;
  const auto with_groups = remedy_json(m, {.command = {"program"}})["would_have_been_seen"];
  EXPECT_DOUBLE_EQ(with_groups["detectable"], 0.03);
  EXPECT_EQ(with_groups["of"], "groups");
  EXPECT_EQ(with_groups["pairs"], 16);
  EXPECT_EQ(with_groups["text"], "anything above 3.0 % would have been seen");
  m.groups.clear();
  for (remedy_effect& e : m.remedies) e.measures[run_measure::cpu] = effect_with(1, 0.01, 8);
  EXPECT_FALSE(seen_effect_of(m)) << "too few rounds for an interval";
  EXPECT_EQ(remedy_json(m, {.command = {"program"}})["would_have_been_seen"], nullptr);
}

/// A plan of three groups, of which one was measured to gain.
remedy_measurement with_groups(double itself) {
  auto m = measured({{remedy_kind::preload, "a", 1}, {remedy_kind::routes, "the plan", 0.999}}, itself);
  m.whole_plan = 1;
  m.plan_groups = 3;
  m.kept = {1};
  m.groups = {{.name = "others", .groups = {0, 2}, .log_ratio = {0.05, 0.04, 0.06}},
              {.name = "gain", .groups = {1}, .log_ratio = {-0.1, -0.12, -0.08}}};
  return m;
}

TEST(remedies, on_an_unfit_machine_all_groups_stay) {
  auto m = with_groups(1.05);
  decide(m, threshold);
  EXPECT_EQ(m.decision, remedy_decision::unfit);
  EXPECT_EQ(m.kept, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(m.notes, std::vector<std::string>{"All groups stay in the plan."});
  for (const auto& group : remedy_json(m, {.command = {"program"}})["groups"]) EXPECT_EQ(group["stays"], true);
  m = with_groups(1);
  decide(m, threshold);
  EXPECT_EQ(m.kept, std::vector<std::size_t>{1});
  EXPECT_EQ(remedy_json(m, {.command = {"program"}})["groups"][0]["stays"], false);
}

TEST(remedies, a_plan_that_fails_is_no_loss_and_has_its_reason) {
  for (const double itself : {1.0, 1.05}) {
    auto m = with_groups(itself);
    m.remedies[1].failure = "the program ended with status 9";
    m.by_plan.reset();
    decide(m, threshold);
    EXPECT_EQ(m.plan_failure, "the program ended with status 9");
    EXPECT_TRUE(m.kept.empty());
    EXPECT_EQ(m.notes, std::vector<std::string>{"The program fails under the plan: no group of it is left."});
  }
}

TEST(remedies, of_runs_that_vary_greatly_a_gain_is_seen_below_100_percent_too) {
  EXPECT_EQ(effect_text({0, -0.9, 0.9}, 1.2),
            "change nothing: measured +0.0 % [-59.3, +146]; neither twice nor half the time would have been seen: "
            "the runs vary too much");
}

TEST(remedies, groups_that_the_budget_does_not_tell_apart_are_one_part) {
  EXPECT_EQ(parts_of(3, 100), (plan_parts{{0}, {1}, {2}}));
  EXPECT_EQ(parts_of(5, 24), (plan_parts{{0}, {1}, {2, 3, 4}}));
  EXPECT_EQ(parts_of(4, 0), (plan_parts{{0}, {1, 2, 3}}));
}

}  // namespace
