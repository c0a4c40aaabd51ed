// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a measurement of the program changes in the advice, and what it leaves on an unfit machine.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/advise/measured.hpp"
#include "cli/tests/advise/scene.hpp"

namespace {

using namespace ashlar::cli;
using nlohmann::json;

/// Two sites with a group each, and an answer by which the second one gains more.
class advise_answer : public testing::Test {
protected:
  advise_answer() {
    for (const std::uint64_t size : {48U, 80U}) {
      const std::uint32_t stack = scene_.stack({0x1000 + size, 0x1500});
      std::vector<std::uint64_t> live;
      for (int i = 0; i < 4000; ++i) live.push_back(scene_.allocate(size, stack));
      for (const std::uint64_t object : live) scene_.free(object);
    }
    made_.features = scene_.play().program();
    made_.sites = scene_.advise();
    std::vector<std::string> left_out;
    plan_ =
        advice_plan(made_, scene_.tree, scene_.seen(), scene_.names(), [](const auto&...) { return true; }, left_out);
    EXPECT_EQ(made_.sites.size(), 2U);
    EXPECT_EQ(plan_.groups.size(), 2U);
    const json first = {{"groups", {0}}, {"ratio", 0.98}, {"text", "first"}};
    const json second = {{"groups", {1}}, {"ratio", 0.9}, {"text", "second"}};
    answer_ = {{"text", "verdict"},
               {"data", {{"groups", {first, second}}}},
               {"kept", {0, 1}},
               {"plan_failure", ""},
               {"unfit", false}};
  }

  void take() { take_answer(answer_, made_, scene_.tree, plan_); }
  [[nodiscard]] std::vector<std::string> measured() const {
    std::vector<std::string> all;
    for (const advised_site& s : made_.sites) all.push_back(s.measured);
    return all;
  }

  ashlar_test::scene scene_;
  advice made_;
  route_plan plan_;
  json answer_;
};

TEST_F(advise_answer, sorts_the_sites_and_is_the_evidence_of_the_groups) {
  take();
  EXPECT_EQ(made_.measurement.text, "verdict");
  EXPECT_EQ(measured(), (std::vector<std::string>{"second", "first"}));
  ASSERT_EQ(plan_.groups.size(), 2U);
  EXPECT_EQ(plan_.groups[0].evidence["measured"]["text"], "first");
  EXPECT_EQ(plan_.groups[1].evidence["measured"]["text"], "second");
  EXPECT_EQ(made_.no_plan, "");
}

TEST_F(advise_answer, of_an_unfit_machine_neither_sorts_nor_is_evidence) {
  answer_["unfit"] = true;
  const auto first = made_.sites.front().node;
  take();
  EXPECT_EQ(made_.measurement.text, "verdict");
  EXPECT_EQ(measured(), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(made_.sites.front().node, first);
  ASSERT_EQ(plan_.groups.size(), 2U);
  for (const route_group& group : plan_.groups) EXPECT_FALSE(group.evidence.contains("measured")) << group.evidence;
}

TEST_F(advise_answer, that_keeps_no_group_is_the_reason_of_an_empty_plan) {
  answer_["kept"] = json::array();
  take();
  EXPECT_TRUE(plan_.groups.empty());
  EXPECT_EQ(made_.no_plan, "no group of sites was measured to gain");
}

}  // namespace
