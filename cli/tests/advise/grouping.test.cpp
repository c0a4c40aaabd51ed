// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which call sites get memory of their own in a plan, and which of them share it.
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/advise/advice.hpp"
#include "cli/advise/grouping.hpp"
#include "cli/tests/advise/scene.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::scene;

/// Effects: builds `n` objects of each stack in turn, and then frees all. `other`: a stack whose objects are freed at
/// once, one after each of those that stay.
void build_and_free(scene& s, int n, std::uint64_t size, const std::vector<std::uint32_t>& stacks,
                    std::uint32_t other = 0) {
  std::vector<std::uint64_t> live;
  for (int i = 0; i < n; ++i)
    for (const std::uint32_t stack : stacks) {
      live.push_back(s.allocate(size, stack));
      if (other != 0) s.free(s.allocate(size, other));
    }
  for (const std::uint64_t object : live) s.free(object);
}

/// Returns: the plan of all events so far, of a router that cannot follow the frame at `lost`.
route_plan plan_of(scene& s, std::vector<left_out_site>& left_out, std::uint64_t lost = 0) {
  advice made;
  made.features = s.play().program();
  made.program = "program";
  const auto follows = [lost](const std::string&, std::uint64_t offset) { return offset != lost; };
  return advice_plan(made, s.tree, s.seen(), s.names(), follows, left_out);
}

std::vector<std::vector<route_frame>> chains_of(const route_group& group) {
  std::vector<std::vector<route_frame>> chains;
  for (const route_site& site : group.sites) chains.push_back(site.chain);
  return chains;
}

TEST(advise_plan, sites_of_one_size_that_die_together_share_a_pool) {
  scene s;
  build_and_free(s, 4000, 48, {s.stack({0x1100, 0x1500}), s.stack({0x1200, 0x1500})});
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  EXPECT_TRUE(left_out.empty());
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].name, "1-cells-of-48");
  EXPECT_EQ(plan.groups[0].remedy, route_remedy::pool);
  EXPECT_EQ(plan.groups[0].cell_bytes, 48U);
  EXPECT_EQ(chains_of(plan.groups[0]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x100}}, {{"ab12", 0x200}}}));
  EXPECT_EQ(plan.groups[0].evidence["objects"], 8000);
  EXPECT_LT(plan.groups[0].evidence["long_lived_objects"], 8000) << "after the last births little is allocated";
  EXPECT_EQ(plan.modules.at("ab12"), "/no/program");
  std::istringstream text(to_text(plan));
  EXPECT_EQ(read_plan(text, "plan"), plan);
}

TEST(advise_plan, cells_are_aligned_as_malloc_promises) {
  scene s;
  build_and_free(s, 8000, 24, {s.stack({0x1100, 0x1500})});
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].cell_bytes, 32U);
}

TEST(advise_plan, other_sizes_and_other_lifetimes_have_pools_of_their_own) {
  scene s;
  const auto nodes = s.stack({0x1100}), large = s.stack({0x1200}), mixed = s.stack({0x1300});
  build_and_free(s, 4000, 48, {nodes});
  build_and_free(s, 4000, 80, {large});
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 40'000; ++i) {  // no order of deaths
    live.push_back(s.allocate(48, mixed));
    if (live.size() < 8000) continue;
    std::swap(live[(i * 7919) % live.size()], live.back());
    s.free(live.back());
    live.pop_back();
  }
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  ASSERT_EQ(plan.groups.size(), 3U);
  EXPECT_EQ(chains_of(plan.groups[0]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x300}}})) << "the largest";
  EXPECT_EQ(chains_of(plan.groups[1]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x200}}}));
  EXPECT_EQ(chains_of(plan.groups[2]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x100}}}));
}

TEST(advise_plan, short_lives_and_few_bytes_stay_with_the_process_heap) {
  scene s;
  build_and_free(s, 200, 48, {s.stack({0x1100})}, s.stack({0x1200}));     // 9.4 KiB
  build_and_free(s, 2000, 48, {s.stack({0x1300})}, s.stack({0x1400}));    // 94 KiB, no group alone
  build_and_free(s, 500, 1000, {s.stack({0x1600})}, s.stack({0x1700}));   // 488 KiB, but few calls
  build_and_free(s, 2000, 4000, {s.stack({0x1800})}, s.stack({0x1900}));  // no two share a page
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  EXPECT_TRUE(plan.groups.empty()) << to_text(plan);
  EXPECT_TRUE(left_out.empty());
}

TEST(advise_plan, blocks_of_many_sizes_share_an_arena_if_they_die_together) {
  scene s;
  const auto words = s.stack({0x1100}), pinned = s.stack({0x1200});
  std::vector<std::uint64_t> live, kept;
  for (std::uint64_t i = 0; i < 8000; ++i) live.push_back(s.allocate(16 + i * 37 % 200, words));
  for (const std::uint64_t object : live) s.free(object);
  for (std::uint64_t i = 0; i < 8000; ++i) {  // one in eight stays, among those that die soon
    kept.push_back(s.allocate(16 + i * 37 % 200, pinned));
    if (i % 8 != 0 && i > 2000) s.free(kept[kept.size() - 2000]), kept[kept.size() - 2000] = 0;
  }
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  ASSERT_EQ(plan.groups.size(), 1U) << to_text(plan);
  EXPECT_EQ(plan.groups[0].remedy, route_remedy::arena);
  EXPECT_EQ(plan.groups[0].name, "1-blocks");
  EXPECT_EQ(chains_of(plan.groups[0]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x100}}}));
}

TEST(advise_plan, a_call_is_followed_to_its_callers_only_where_their_objects_live_otherwise) {
  scene s;
  const auto both = s.stack({0x1100, 0x1210, 0x1500}), also = s.stack({0x1100, 0x1220, 0x1500});
  const auto stays = s.stack({0x1300, 0x1230, 0x1500}), goes = s.stack({0x1300, 0x1240, 0x1500});
  build_and_free(s, 3000, 48, {both, also});
  build_and_free(s, 4000, 80, {stays}, goes);
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  ASSERT_EQ(plan.groups.size(), 2U) << to_text(plan);
  EXPECT_EQ(chains_of(plan.groups[0]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x300}, {"ab12", 0x230}}}));
  EXPECT_EQ(chains_of(plan.groups[1]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x100}}}));
}

TEST(advise_plan, a_site_whose_frames_cannot_be_followed_is_named_and_left_out) {
  const auto play = [](std::vector<left_out_site>& left_out, std::uint64_t lost) {
    scene s;
    const auto stays = s.stack({0x1300, 0x1230, 0x1500}), goes = s.stack({0x1300, 0x1240, 0x1500});
    build_and_free(s, 4000, 80, {stays}, goes);
    build_and_free(s, 4000, 48, {s.stack({0x1100, 0x1500})});
    return plan_of(s, left_out, lost);
  };
  std::vector<left_out_site> left_out, none;
  const route_plan plan = play(left_out, 0x300);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_NE(left_out[0].text.find("is not in the plan: a function that leads to it has no frame of a fixed size."),
            std::string::npos)
      << left_out[0].text;
  ASSERT_EQ(plan.groups.size(), 1U) << to_text(plan);
  EXPECT_EQ(chains_of(plan.groups[0]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x100}}}));
  EXPECT_EQ(play(none, 0x230).groups.size(), 2U) << "from the last frame of a chain nothing is followed";
}

TEST(advise_plan, a_caller_of_few_of_the_calls_is_not_looked_for) {
  scene s;
  const auto stays = s.stack({0x1300, 0x1230, 0x1500}), goes = s.stack({0x1300, 0x1240, 0x1500});
  for (int i = 0; i < 20'000; ++i) s.free(s.allocate(80, goes));
  build_and_free(s, 4000, 80, {stays}, goes);
  std::vector<left_out_site> left_out;
  EXPECT_TRUE(plan_of(s, left_out).groups.empty());
}

TEST(advise_plan, a_site_in_a_module_without_a_build_id_is_named) {
  scene s;
  build_and_free(s, 4000, 48, {s.stack({0x1100, 0x1500}), s.stack({0xF1100})});
  std::vector<left_out_site> left_out;
  const route_plan plan = plan_of(s, left_out);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_NE(left_out[0].text.find("is not in the plan: its module has no build id."), std::string::npos)
      << left_out[0].text;
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(chains_of(plan.groups[0]), (std::vector<std::vector<route_frame>>{{{"ab12", 0x100}}}));
}

}  // namespace
