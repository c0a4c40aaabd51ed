// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the choice among plans of routes, from made-up effects.
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/remedies/choice.hpp"
#include "cli/remedies/experiment.hpp"
#include "cli/remedies/text.hpp"
#include "cli/tests/remedies/made_up.hpp"

namespace {

using namespace ashlar::cli;
using namespace ashlar_test::made_up;
using nlohmann::json;

/// libashlar.so at 0.9, and two page policies under it.
remedy_measurement with_page_policies(double huge, double populated) {
  auto m = measured({{remedy_kind::preload, "libashlar.so", 0.9},
                     {remedy_kind::pages, "huge pages, libashlar.so", huge},
                     {remedy_kind::pages, "populated pages, libashlar.so", populated},
                     {remedy_kind::pages, "huge pages, glibc", 0.5}});
  for (const std::size_t n : {0U, 1U, 2U}) m.remedies[n].remedy.side.library = "libashlar.so";
  m.remedies[1].remedy.option = "huge_pages=madvise";
  m.remedies[2].remedy.option = "populate=1";
  return m;
}

TEST(remedies, a_page_policy_is_one_that_gains_over_its_malloc_alone) {
  EXPECT_EQ(page_policy_of(with_page_policies(0.8, 0.85), threshold), 1U);
  EXPECT_EQ(page_policy_of(with_page_policies(0.95, 0.85), threshold), 2U);
  EXPECT_EQ(page_policy_of(with_page_policies(0.95, 0.92), threshold), std::nullopt);
  EXPECT_EQ(remedy_json(with_page_policies(0.8, 0.85), {.command = {"program"}})["page_policy"],
            "huge pages, libashlar.so");
  auto broken = with_page_policies(0.8, 0.85);
  broken.remedies[1].failure = "the program died";
  EXPECT_EQ(page_policy_of(broken, threshold), 2U);
  broken.remedies[0].failure = "the program died";
  EXPECT_EQ(page_policy_of(broken, threshold), std::nullopt);
  EXPECT_EQ(page_policy_of(measured({{remedy_kind::preload, "a", 0.9}}), threshold), std::nullopt);
}

TEST(remedies, a_plan_on_other_pages_has_one_command_line) {
  const program_remedy routed = {.kind = remedy_kind::routes,
                                 .name = "route by the plan",
                                 .side = {.command = {"prog", "a b"}, .variables = {{"ROUTES", "1"}}}};
  const program_remedy pages = {.kind = remedy_kind::pages,
                                .name = "populated pages, libashlar.so",
                                .side = {.command = {"prog", "a b"}, .variables = {{"ASHLAR", "retain=1m,populate=1"}}},
                                .policy = "populated pages",
                                .option = "populate=1"};
  const program_remedy both = with_page_policy(routed, pages, "t.plan");
  EXPECT_EQ(both.name, "populated pages, route by the plan");
  EXPECT_EQ(both.kind, remedy_kind::routes);
  EXPECT_EQ(both.side.shown, "ashlar run --plan t.plan --option populate=1 -- prog 'a b'");
  ASSERT_EQ(both.side.variables.size(), 2U);
  EXPECT_EQ(both.side.variables[1].second, "retain=1m,populate=1");
}

/// A malloc, a plan of three groups, two of which gain, these two alone, and these with a page policy.
remedy_measurement with_plans(double malloc, double whole, double rest, double pages) {
  auto m = measured({{remedy_kind::preload, "a", malloc},
                     {remedy_kind::routes, "whole", whole},
                     {remedy_kind::routes, "rest", rest},
                     {remedy_kind::routes, "pages", pages}});
  m.plan_groups = 3;
  m.whole_plan = 1;
  m.rest_of_plan = 2;
  m.plan_on_pages = 3;
  m.kept = {0, 2};
  m.groups = std::vector<group_effect>(3);
  m.remedies[1].groups = {0, 1, 2};
  m.remedies[2].groups = m.remedies[3].groups = {0, 2};
  return m;
}

/// Chooses by the means alone, and decides.
std::string winner_among(remedy_measurement& m) {
  m.confirmed.runs.rounds.resize(40);
  for (remedy_effect& e : m.remedies) e.confirmed = true;
  choose_plan(m, [&m](std::size_t a, std::size_t b) {
    const auto mean = [&m](std::size_t n) { return std::exp(m.remedies[n].deciding().effect.log_ratio.mean); };
    return effect_with(mean(b) / mean(a), 0.001);
  });
  decide(m, threshold);
  return m.winner ? m.remedies[*m.winner].remedy.name : "none";
}

TEST(remedies, a_plan_wins_on_other_pages_where_it_takes_less_there_and_than_the_best) {
  struct expectation {
    double malloc, whole, rest, pages;
    const char* winner;
    std::vector<std::size_t> kept;
  };
  for (const expectation& e :
       {expectation{1, 0.9, 0.9, 0.8, "pages", {0, 2}}, expectation{0.85, 0.9, 0.9, 0.8, "pages", {0, 2}},
        expectation{0.7, 0.9, 0.9, 0.8, "a", {0, 2}}, expectation{0.95, 0.9, 0.9, 0.9, "rest", {0, 2}},
        expectation{0.95, 0.8, 0.9, 0.9, "whole", {0, 1, 2}}, expectation{0.7, 0.8, 0.9, 0.75, "a", {0, 1, 2}}}) {
    auto m = with_plans(e.malloc, e.whole, e.rest, e.pages);
    EXPECT_EQ(winner_among(m), e.winner) << e.malloc << " " << e.whole << " " << e.rest << " " << e.pages;
    EXPECT_EQ(m.kept, e.kept) << e.winner;
  }
}

/// A plan of one group over the heap of libashlar.so, which gains by itself.
TEST(remedies, a_plan_stays_if_it_gains_over_its_heap_not_over_the_program_as_it_is) {
  for (const auto& [whole, stays] : {std::pair(0.85, false), std::pair(0.8, false), std::pair(0.7, true)}) {
    auto m = measured({{remedy_kind::preload, "libashlar.so", 0.8}, {remedy_kind::routes, "whole", whole}});
    m.remedies[0].remedy.side.library = "lib/libashlar.so";
    m.whole_plan = 1;
    m.plan_groups = 1;
    m.kept = m.remedies[1].groups = {0};
    EXPECT_EQ(winner_among(m), stays ? "whole" : "libashlar.so");
    EXPECT_EQ(m.kept.size(), stays ? 1U : 0U) << whole;
    const json over = remedy_json(m, {.command = {"program"}})["whole_plan_over_heap"];
    EXPECT_NEAR(over["ratio"], whole / 0.8, 0.01);
    EXPECT_EQ(over["confirmed"], true);
    EXPECT_EQ(over["text"].get<std::string>().find("too few"), std::string::npos) << over["text"];
    if (!stays) EXPECT_EQ(m.notes.back(), "The plan does not gain over libashlar.so alone: no group of it stays.");
  }
}

TEST(remedies, plans_that_fail_are_not_chosen) {
  auto rest_fails = with_plans(1, 0.9, 0.9, 0.8);  // then the whole plan is on other pages
  rest_fails.remedies[2].failure = "the program died";
  rest_fails.remedies[3].groups = {0, 1, 2};
  EXPECT_EQ(winner_among(rest_fails), "pages");
  EXPECT_EQ(rest_fails.kept, (std::vector<std::size_t>{0, 1, 2}));
  auto pages_fail = with_plans(1, 0.9, 0.8, 0.7);
  pages_fail.remedies[3].failure = "the program died";
  EXPECT_EQ(winner_among(pages_fail), "rest");
  EXPECT_FALSE(pages_fail.pages_over_plan);
  auto all_fail = with_plans(0.9, 0.8, 0.8, 0.8);
  for (const std::size_t n : {1U, 2U, 3U}) all_fail.remedies[n].failure = "the program died";
  EXPECT_EQ(winner_among(all_fail), "a");
  EXPECT_TRUE(all_fail.kept.empty());
  EXPECT_FALSE(all_fail.over_best);
}

TEST(remedies, a_plan_that_gains_on_other_pages_alone_is_one_of_no_group_unless_it_wins) {
  for (const bool wins : {true, false}) {
    auto m = measured({{remedy_kind::preload, "a", wins ? 1 : 0.7},
                       {remedy_kind::routes, "the plan", 1},
                       {remedy_kind::routes, "huge pages, the plan", 0.8}});
    m.whole_plan = 1;
    m.plan_on_pages = 2;
    m.plan_groups = 1;
    m.kept = m.remedies[1].groups = m.remedies[2].groups = {0};
    EXPECT_EQ(winner_among(m), wins ? "huge pages, the plan" : "a");
    EXPECT_EQ(m.kept.size(), wins ? 1U : 0U);
  }
}

}  // namespace
