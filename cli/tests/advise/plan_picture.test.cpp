// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of the plan on the page of advice, after a measurement.
#include <string>

#include <gtest/gtest.h>

#include "cli/advise/picture.hpp"

namespace {

using namespace ashlar::cli;

/// An effect of each group, or one of all of them.
TEST(advise_page_plan, has_measured_effects_and_those_that_leave) {
  advice a;
  for (const char* const name : {"one", "two"}) {
    route_group& group = a.plan.groups.emplace_back();
    group.name = name;
    group.evidence["objects"] = 7;
  }
  a.plan_trials = {{trial_result::gain, "-4.0 %", -0.04, {0}}, {trial_result::no_gain, "change nothing", 0, {1}}};
  a.left_groups = {1};
  advice_page page;
  add_plan(page, a);
  ASSERT_EQ(page.plan.size(), 2U);
  EXPECT_EQ(page.plan[0].effect + page.plan[1].effect, "-4.0 %change nothing");
  EXPECT_TRUE(page.plan[0].stays && !page.plan[1].stays);
  EXPECT_EQ(page.plan_note.find("Measured"), std::string::npos);
  const std::string html = html_advice(page);
  EXPECT_NE(html.find("<tr class=\"none\">"), html.npos);
  EXPECT_NE(html.find("Left the plan. change nothing</td>"), html.npos);
  a.plan.groups.push_back(a.plan.groups[1]);
  a.plan_trials.push_back(a.plan_trials[1]);
  a.plan_trials[2].groups = {2};
  advice_page equal;
  add_plan(equal, a);
  EXPECT_EQ(equal.plan[2].effect, "change nothing") << "measured for itself";
  a.plan_trials[1].groups = a.plan_trials[2].groups = {1, 2};
  advice_page some;
  add_plan(some, a);
  EXPECT_EQ(some.plan[2].effect, "measured with two");
  a.plan.groups.pop_back();
  a.plan_trials.pop_back();
  a.plan_trials[1] = a.plan_trials[0] = {trial_result::open, "both together: -1 %", -0.01, {0, 1}};
  advice_page whole;
  add_plan(whole, a);
  EXPECT_TRUE(whole.plan_note.ends_with(" Measured: both together: -1 %.")) << whole.plan_note;
  EXPECT_EQ(whole.plan[0].effect, "");
}

}  // namespace
