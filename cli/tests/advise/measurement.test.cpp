// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a measurement of the program changes in the advice, and what it leaves on an unfit machine.
#include "cli/advise/measurement.hpp"
#include "cli/rounds/effect.hpp"
#include "cli/tests/advise/scene.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has, ashlar_test::starts, ashlar_test::ends;
using nlohmann::json;

json effect(std::vector<std::size_t> groups, double ratio, const char* text) {
  const char* const verdict = ratio > 1.01 ? "loss" : ratio < 0.99 ? "gain" : "undecided";
  return {{"groups", groups}, {"ratio", ratio}, {"verdict", verdict}, {"text", text}};
}

/// Two sites with a group each, one whose objects die young, and an answer by which the second group gains more.
class advise_answer : public testing::Test {
protected:
  advise_answer() {
    for (const std::uint64_t size : {48U, 80U}) {
      const std::uint32_t stack = scene_.stack({0x1000 + size, 0x1500});
      std::vector<std::uint64_t> live;
      for (int i = 0; i < 4000; ++i) live.push_back(scene_.allocate(size, stack));
      for (const std::uint64_t object : live) scene_.free(object);
    }
    for (int i = 0; i < 3000; ++i) scene_.free(scene_.allocate(24, scene_.stack({0x1700, 0x1500})));
    made_.features = scene_.play().program();
    made_.sites = scene_.advise();
    plan_ = advice_plan(made_, scene_.tree, scene_.seen(), scene_.names(), [](const auto&...) { return true; });
    made_.plan = plan_;
    made_.program = "program";
    EXPECT_EQ(made_.sites.size(), 3U);
    EXPECT_EQ(plan_.groups.size(), 2U);
    answer_ = {
        {"text", "verdict"},
        {"data", {{"groups", {effect({0}, 0.98, "first"), effect({1}, 0.9, "second")}}, {"remedies", json::array()}}},
        {"kept", {0, 1}},
        {"no_plan", ""},
        {"plan_failure", ""},
        {"of_sites", true},
        {"unfit", false}};
  }

  [[nodiscard]] std::string of_group(std::size_t number, const char* effect) const {
    return "group " + made_.plan.groups[number].name + ": over an empty plan: " + effect;
  }
  void take() { take_answer(answer_, made_, scene_.tree, plan_); }
  /// Effects: the answer is the one under a budget without room for the groups.
  void measure_whole(double ratio, const char* verdict, int pairs) {
    json& data = answer_["data"];
    data["groups"] = json::array();
    data["whole_plan_over_empty_plan"] = {
        {"ratio", ratio}, {"verdict", verdict}, {"pairs", pairs}, {"text", "its effect"}};
    data["groups_budget_seconds"] = 80.0;
  }
  void leave_one_group() {
    made_.plan.groups.resize(1);
    plan_ = made_.plan;
    answer_["kept"] = {0};
  }
  void change_nothing_at(std::size_t site) {
    made_.sites[site].rule = &*std::ranges::find(advice_rules(), remedy::nothing, &advice_rule::proposes);
  }
  [[nodiscard]] std::vector<std::string> trials() const {
    std::vector<std::string> all;
    for (const advised_site& s : made_.sites) all.push_back(s.trial.text);
    return all;
  }
  [[nodiscard]] json sites() { return advice_json(made_, scene_.tree, scene_.names())["sites"]; }

  ashlar_test::scene scene_;
  advice made_;
  route_plan plan_;
  json answer_;
  const std::string no_gain_ =
      "None of those with a remedy is in a group that gains: first those that are undecided or were not tried, by "
      "ESTIMATE; those whose group is level or a loss are the last.";
  const advice_rule* const routable_ = &*std::ranges::find(advice_rules(), remedy::pool, &advice_rule::proposes);
  const std::string untried_;  // nothing is said of it
};

TEST_F(advise_answer, sorts_the_sites_and_is_the_evidence_of_the_groups) {
  take();
  EXPECT_EQ(made_.measurement.text, "verdict");
  EXPECT_EQ(trials(), (std::vector<std::string>{of_group(1, "second"), of_group(0, "first"), untried_}));
  EXPECT_TRUE(starts(made_.order, "By their gain: measured over an empty plan,"));
  ASSERT_EQ(plan_.groups.size(), 2U);
  EXPECT_EQ(plan_.groups[0].evidence["measured"]["text"], "first");
  EXPECT_EQ(plan_.groups[1].evidence["measured"]["text"], "second");
  EXPECT_EQ(made_.no_plan, "");
}

TEST_F(advise_answer, puts_those_that_were_not_tried_before_those_that_do_not_gain) {
  answer_["data"]["groups"] = {effect({0}, 1.02, "worse"), effect({1}, 0.9, "second")};
  take();
  EXPECT_EQ(trials(), (std::vector<std::string>{of_group(1, "second"), untried_, of_group(0, "worse")}));
  made_.order.clear();
  answer_["data"]["groups"] = json::array({effect({0, 1}, 0.995, "both")});
  answer_["data"]["groups"][0]["verdict"] = "level";
  take();
  EXPECT_EQ(trials()[0], untried_);
  EXPECT_EQ(trials()[1], "2 groups together: over an empty plan: both");
  EXPECT_EQ(made_.order, no_gain_);
}

TEST_F(advise_answer, of_groups_with_equal_effects_has_that_of_each) {
  answer_["data"]["groups"] = {effect({0}, 0.98, "-2 %"), effect({1}, 0.981, "-2 %")};
  take();
  EXPECT_EQ(trials(), (std::vector<std::string>{of_group(0, "-2 %"), of_group(1, "-2 %"), untried_}));
}

TEST_F(advise_answer, leaves_the_order_of_sites_without_a_remedy) {
  std::vector<std::uint32_t> nodes;
  for (std::size_t i = 0; i < 3; ++i) {
    change_nothing_at(i);
    nodes.push_back(made_.sites[i].node);
  }
  answer_["data"]["groups"] = {effect({0}, 1.02, "worse"), effect({1}, 0.9, "second")};
  take();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(made_.sites[i].node, nodes[i]) << i;
  EXPECT_EQ(made_.order, no_gain_) << "a gain is none of theirs";
}

TEST_F(advise_answer, gives_each_site_of_a_group_its_effect_in_text_and_json) {
  take();
  const std::string page = advice_text(made_, scene_.tree, 8);
  EXPECT_TRUE(has(page, "MEASURED: group 2-cells-of-"));
  for (const char* const of_what_was_not_tried : {"UNTRIED", "would have been seen"})
    EXPECT_FALSE(has(page, of_what_was_not_tried));
  EXPECT_TRUE(has(page, "\nBy their gain: measured"));
  const json all = sites();
  EXPECT_EQ(all[0]["trial"]["verdict"], "gain");
  EXPECT_EQ(all[0]["gain"]["level"], "measured");
  EXPECT_DOUBLE_EQ(all[0]["trial"]["ratio"], 0.9);
  EXPECT_EQ(all[2]["trial"], nullptr);
  EXPECT_NE(all[2]["gain"]["level"], "measured");
}

TEST_F(advise_answer, of_the_whole_plan_tells_its_effect_and_the_order) {
  const std::string both = "all 2 groups of the plan together: over an empty plan: its effect";
  const std::string estimate = " is that of ESTIMATE, not of measured gain: ";
  const std::string budget = "the effect of each group of the plan takes about --budget 80s.";
  const std::string last =
      "Last those of the plan, which does not gain as a whole. The order within" + estimate + budget;
  struct row {
    const char* verdict;
    int pairs;
    std::string order;
  };
  for (const row& r : std::vector<row>{
           {"gain", 12,
            "By their gain: the plan's as a whole, shared among its sites by ESTIMATE, else ESTIMATE: " + budget},
           {"undecided", 12, "The order" + estimate + budget},
           {"loss", 12, last},
           {"level", 12, last}}) {
    measure_whole(0.99, r.verdict, r.pairs);
    take();
    EXPECT_EQ(std::ranges::count(trials(), both), 2) << r.verdict;
    EXPECT_EQ(std::ranges::count(trials(), untried_), 1) << r.verdict;
    EXPECT_EQ(made_.sites[r.order == last ? 1 : 0].trial.found, verdict_named(r.verdict)) << r.verdict;
    EXPECT_EQ(made_.order, r.order);
  }
  leave_one_group();
  for (const row& r :
       std::vector<row>{{"gain", 12, "By their gain: measured over an empty plan,"},
                        {"level", 12, "None of those with a remedy is in a group that gains: "},
                        {"undecided", 12, "The order" + estimate + "the effect of the plan is undecided."},
                        {"undecided", 0, "The order" + estimate + "the effect of each group of"}}) {
    measure_whole(0.9, r.verdict, r.pairs);
    take();
    EXPECT_TRUE(starts(made_.order, r.order)) << r.verdict << r.pairs;
  }
}

TEST_F(advise_answer, of_one_round_measures_nothing) {
  measure_whole(0.9, "undecided", 1);
  take();
  EXPECT_EQ(trials()[0], "");
  EXPECT_EQ(sites()[0]["trial"], nullptr);
  EXPECT_NE(sites()[0]["gain"]["level"], "measured");
}

/// The whole plan takes 0.7 of the program as it is, and its heap without a route less.
TEST_F(advise_answer, of_a_whole_plan_is_what_routes_add_to_their_heap) {
  measure_whole(1.07, "loss", 12);
  answer_["data"]["whole_plan"] = "the plan";
  const json cpu = {{"ratio", 0.7}, {"pairs", 12}};
  const json plan = {{"name", "the plan"}, {"verdict", "gain"}, {"measures", {{"cpu_ms", cpu}}}};
  answer_["data"]["remedies"] = json::array({plan});
  take();
  const std::string both = "all 2 groups of the plan together: over an empty plan: its effect";
  EXPECT_EQ(trials(), (std::vector<std::string>{untried_, both, both}));
  EXPECT_TRUE(starts(made_.order, "Last those of the plan, which does not gain as a whole."));
  leave_one_group();
  take();
  EXPECT_EQ(trials().back(), of_group(0, "its effect"));
  answer_["data"]["whole_plan_over_empty_plan"] = nullptr;
  take();
  EXPECT_EQ(trials(), (std::vector<std::string>(3))) << "the gain of the heap is not that of a site";
}

TEST_F(advise_answer, without_a_plan_has_the_reason_of_the_order) {
  answer_["data"]["groups"] = json::array();
  answer_["plan_failure"] = "the program died";
  take();
  EXPECT_EQ(trials()[0], "");
  EXPECT_EQ(made_.order, "The order is that of ESTIMATE, not of measured gain: routing fails: the program died.");
  made_.plan = {};
  answer_["plan_failure"] = "";
  answer_["kept"] = json::array();
  take();
  EXPECT_EQ(made_.order, "The order is that of ESTIMATE, not of measured gain: there is no plan to try.");
}

TEST_F(advise_answer, without_a_group_leaves_the_reason_to_the_evidence) {
  made_.ungrouped = {{made_.sites[1].node, "its group would be too small"}};
  made_.left_out = {{.node = made_.sites[2].node, .text = "", .obstacle = "its module has no build id"}};
  made_.plan = plan_ = {};
  for (advised_site& s : made_.sites) s.rule = routable_;
  tell_routes(made_, scene_.tree);
  EXPECT_TRUE(ends(made_.sites[1].evidence, "; no route would serve it, as its group would be too small"));
  EXPECT_TRUE(ends(made_.sites[2].evidence, "; no route would serve it, as its module has no build id"));
}

/// Its objects live long, and the objects of another call of the same four frames die young.
TEST(advise_trials, of_a_long_chain_has_the_reason) {
  ashlar_test::scene s;
  const auto stays = s.stack({0x1100, 0x1200, 0x1300, 0x1400, 0x1510});
  const auto goes = s.stack({0x1100, 0x1200, 0x1300, 0x1400, 0x1520});
  for (int i = 0; i < 4000; ++i) {
    static_cast<void>(s.allocate(48, stays));
    s.free(s.allocate(48, goes));
  }
  advice made;
  made.features = s.play().program();
  made.plan = advice_plan(made, s.tree, s.seen(), s.names(), [](const auto&...) { return true; });
  ASSERT_TRUE(made.plan.groups.empty());
  for (const std::uint32_t depth : {1U, 5U}) {
    advised_site& site = made.sites.emplace_back();
    site.features = &s.site(stays, depth);
    site.rule = &*std::ranges::find(advice_rules(), remedy::pool, &advice_rule::proposes);
    for (const std::uint32_t node : s.tree.levels(stays))
      if (s.tree.nodes()[node].depth == depth) site.node = node;
  }
  tell_routes(made, s.tree);
  EXPECT_EQ(made.sites[0].evidence, "; no route would serve it, as its objects die young");
  EXPECT_EQ(made.sites[1].evidence, "; no route would serve it, as its route would have more than 4 frames");
}

TEST_F(advise_answer, of_an_unfit_machine_neither_sorts_nor_is_evidence) {
  answer_["unfit"] = true;
  const auto first = made_.sites.front().node;
  take();
  EXPECT_EQ(made_.measurement.text, "verdict");
  EXPECT_EQ(trials(), (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(sites()[0]["trial"], nullptr);
  EXPECT_EQ(made_.sites.front().node, first);
  ASSERT_EQ(plan_.groups.size(), 2U);
  for (const route_group& group : plan_.groups) EXPECT_FALSE(group.evidence.contains("measured")) << group.evidence;
}

TEST_F(advise_answer, that_keeps_no_group_has_the_reason_of_an_empty_plan) {
  answer_["kept"] = json::array();
  answer_["no_plan"] = "the plan is not shown to gain: +0.1 %";
  take();
  EXPECT_TRUE(plan_.groups.empty());
  EXPECT_EQ(answer_["no_plan"], made_.no_plan);
}

}  // namespace
