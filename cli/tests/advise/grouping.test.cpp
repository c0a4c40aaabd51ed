// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which call sites get memory of their own in a plan, and which of them share it.
#include <sstream>

#include "cli/advise/advice.hpp"
#include "cli/advise/models.hpp"
#include "cli/tests/advise/scene.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::ends;
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

/// Returns: the obstacles of the sites without a group, of all events so far.
std::vector<std::string> ungrouped_of(scene& s) {
  s.play();
  std::vector<std::string> obstacles;
  for (const ungrouped_site& site : group_sites(s.tree, s.seen(), {}).ungrouped) obstacles.emplace_back(site.obstacle);
  return obstacles;
}

/// Effects: plays births and deaths of 48 bytes in no order, with at most 8000 alive.
void build_and_free_in_no_order(scene& s, std::uint32_t stack) {
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    live.push_back(s.allocate(48, stack));
    if (live.size() < 8000) continue;
    std::swap(live[(i * 7919) % live.size()], live.back());
    s.free(live.back());
    live.pop_back();
  }
}

/// Returns: the features of 1,000 objects of 48 bytes that are never freed.
site_features thousand_kept() {
  site_features f;
  f.allocated = f.never_freed = {1000, 48'000};
  f.peak_bytes = 48'000;
  f.sizes.record(48, 1000);
  return f;
}

/// Effects: the objects have three sizes, and an arena would hold three times their bytes.
void leave_holes(site_features& f) {
  f.sizes.record(64, 100);
  f.sizes.record(80, 100);
  for (int i = 0; i < 20; ++i) {
    constexpr std::uint64_t bytes = 16 * 1024;  // three of a chunk, one of which stays
    static_cast<void>(f.arena.allocate(bytes));
    for (int k = 0; k < 2; ++k) f.arena.release(f.arena.allocate(bytes), bytes);
  }
}

/// Returns: the plan of all events so far, of a router that cannot follow the frame at `lost`. Expects: the sites that
/// it leaves out have these reasons.
route_plan plan_of(scene& s, const std::vector<std::string>& reasons = {}, std::uint64_t lost = 0) {
  advice made;
  made.features = s.play().program();
  made.program = "program";
  const auto follows = [lost](const std::string&, std::uint64_t offset) { return offset != lost; };
  route_plan plan = advice_plan(made, s.tree, s.seen(), s.names(), follows);
  EXPECT_EQ(made.left_out.size(), reasons.size());
  for (std::size_t i = 0; i < std::min(made.left_out.size(), reasons.size()); ++i)
    EXPECT_TRUE(ends(made.left_out[i].text, " is not in the plan: " + reasons[i] + "."));
  return plan;
}

using offsets = std::vector<std::vector<std::uint64_t>>;

/// Returns: of each group the offsets of each site's frames.
std::vector<offsets> chains_of(const route_plan& plan) {
  std::vector<offsets> groups;
  for (const route_group& group : plan.groups) {
    offsets& chains = groups.emplace_back();
    for (const route_site& site : group.sites) {
      chains.emplace_back();
      for (const route_frame& frame : site.chain) {
        EXPECT_EQ(frame.build_id, "ab12");
        chains.back().push_back(frame.offset);
      }
    }
  }
  return groups;
}

/// Returns: the greatest number of sites in a group.
std::size_t most_sites_of(const site_groups& found) {
  std::size_t most = 0;
  for (const site_group& group : found.groups) most = std::max(most, group.nodes.size());
  return most;
}

TEST(advise_plan, sites_of_one_size_that_die_together_share_a_pool) {
  scene s;
  build_and_free(s, 4000, 48, {s.stack({0x1100, 0x1500}), s.stack({0x1200, 0x1500})});
  const route_plan plan = plan_of(s);
  ASSERT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups[0].name, "1-cells-of-48");
  EXPECT_EQ(plan.groups[0].remedy, route_remedy::pool);
  EXPECT_EQ(plan.groups[0].cell_bytes, 48U);
  EXPECT_EQ(chains_of(plan), (std::vector<offsets>{{{0x100}, {0x200}}}));
  EXPECT_EQ(plan.groups[0].evidence["objects"], 8000);
  EXPECT_LT(plan.groups[0].evidence["long_lived_objects"], 8000) << "after the last births little is allocated";
  EXPECT_EQ(plan.modules.at("ab12"), "/no/program");
  std::istringstream text(to_text(plan));
  EXPECT_EQ(read_plan(text, "plan"), plan);
}

TEST(advise_plan, other_sizes_and_other_lifetimes_have_pools_of_their_own) {
  scene s;
  const auto nodes = s.stack({0x1100}), large = s.stack({0x1200}), mixed = s.stack({0x1300});
  build_and_free(s, 4000, 48, {nodes});
  build_and_free(s, 4000, 80, {large});
  build_and_free(s, 9000, 24, {s.stack({0x1400, 0x1500})});
  build_and_free_in_no_order(s, mixed);
  const route_plan plan = plan_of(s);
  ASSERT_EQ(chains_of(plan), (std::vector<offsets>{{{0x300}}, {{0x200}}, {{0x400}}, {{0x100}}})) << "the largest first";
  EXPECT_EQ(plan.groups[2].cell_bytes, 32U) << "aligned as malloc promises";
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
  const route_plan plan = plan_of(s);
  ASSERT_EQ(chains_of(plan), std::vector<offsets>{{{0x100}}}) << to_text(plan);
  EXPECT_EQ(plan.groups[0].remedy, route_remedy::arena);
  EXPECT_EQ(plan.groups[0].name, "1-blocks");
}

TEST(advise_plan, a_call_is_followed_to_its_callers_only_where_their_objects_live_otherwise) {
  scene s;
  const auto both = s.stack({0x1100, 0x1210, 0x1500}), also = s.stack({0x1100, 0x1220, 0x1500});
  const auto stays = s.stack({0x1300, 0x1230, 0x1500}), goes = s.stack({0x1300, 0x1240, 0x1500});
  build_and_free(s, 3000, 48, {both, also});
  build_and_free(s, 4000, 80, {stays}, goes);
  const route_plan plan = plan_of(s);
  EXPECT_EQ(chains_of(plan), (std::vector<offsets>{{{0x300, 0x230}}, {{0x100}}})) << to_text(plan);
}

TEST(advise_plan, a_site_whose_frames_cannot_be_followed_is_named_and_left_out) {
  const auto play = [](const std::vector<std::string>& reasons, std::uint64_t lost) {
    scene s;
    const auto stays = s.stack({0x1300, 0x1230, 0x1500}), goes = s.stack({0x1300, 0x1240, 0x1500});
    build_and_free(s, 4000, 80, {stays}, goes);
    build_and_free(s, 4000, 48, {s.stack({0x1100, 0x1500})});
    return plan_of(s, reasons, lost);
  };
  const route_plan plan = play({"a function that leads to it has no frame of a fixed size"}, 0x300);
  EXPECT_EQ(chains_of(plan), std::vector<offsets>{{{0x100}}}) << to_text(plan);
  EXPECT_EQ(play({}, 0x230).groups.size(), 2U) << "from the last frame of a chain nothing is followed";
}

TEST(advise_plan, no_chain_goes_through_a_recursion) {
  scene s;
  const auto stays = s.stack({0x1300, 0x1230, 0x1230, 0x1500}), goes = s.stack({0x1300, 0x1230, 0x1230, 0x1600});
  build_and_free(s, 4000, 80, {stays}, goes);
  EXPECT_TRUE(plan_of(s, {"a function that leads to it calls itself"}).groups.empty());
}

TEST(advise_plan, no_group_serves_a_site_for_one_of_these_reasons) {
  struct row {
    void (*change)(site_features&);
    const char* obstacle;
  };
  for (const row& r : std::vector<row>{
           {[](site_features&) {}, ""},
           {[](site_features& f) { f.allocated.objects = f.never_freed.objects = 64; }, ""},
           {[](site_features& f) { f.allocated.objects = f.never_freed.objects = 63; }, "its objects are few"},
           {[](site_features& f) { f.peak_bytes = 16'384; }, ""},
           {[](site_features& f) { f.peak_bytes = 16'383; }, "less than 16 KiB of it is alive at once"},
           {[](site_features& f) { f.resized = 500; }, ""},
           {[](site_features& f) { f.resized = 501; }, "its blocks grow"},
           {[](site_features& f) { f.growth.steps = 199; }, ""},
           {[](site_features& f) { f.growth.steps = 200; }, "its blocks grow"},
           {[](site_features& f) { f.sizes.record(1024, 100); }, ""},
           {[](site_features& f) { f.sizes.record(1100, 100); }, "its blocks are above 1 KiB"},
           {[](site_features& f) { f.alignment = 16; }, ""},
           {[](site_features& f) { f.alignment = 32; }, "its blocks are aligned to more than 16 bytes"},
           {[](site_features& f) {
              f.never_freed = {};
              f.freed = 1000;
              f.lifetime_bytes.record(100, 200);
            },
            "its objects die young"},
           {leave_holes, "its sizes would leave holes"},
       }) {
    site_features f = thousand_kept();
    r.change(f);
    EXPECT_EQ(plan_obstacle(f, {}), r.obstacle);
  }
}

TEST(advise_plan, a_site_without_a_group_has_its_reason) {
  scene small, rare, full;
  build_and_free(small, 2000, 48, {small.stack({0x1300})}, small.stack({0x1400}));
  EXPECT_EQ(ungrouped_of(small), std::vector<std::string>{"its group would be too small for pages of its own"});
  const auto stays = rare.stack({0x1300, 0x1230, 0x1500}), goes = rare.stack({0x1300, 0x1240, 0x1500});
  for (int i = 0; i < 20'000; ++i) rare.free(rare.allocate(80, goes));
  build_and_free(rare, 4000, 80, {stays}, goes);
  EXPECT_EQ(ungrouped_of(rare),
            std::vector<std::string>{"a group could serve less than a quarter of its call's objects"});
  for (std::uint64_t cell = 16; cell <= 1024; cell += 16)
    build_and_free(full, static_cast<int>(150'000 / cell + 1100), cell, {full.stack({0x1100 + cell})});
  build_and_free_in_no_order(full, full.stack({0x1800}));
  EXPECT_EQ(ungrouped_of(full), std::vector<std::string>{"the plan is full of larger groups"});
}

TEST(advise_plan, a_site_in_a_module_without_a_build_id_is_named) {
  scene s;
  build_and_free(s, 4000, 48, {s.stack({0x1100, 0x1500}), s.stack({0xF1100})});
  EXPECT_EQ(chains_of(plan_of(s, {"its module has no build id"})), std::vector<offsets>{{{0x100}}});
}

/// A site of small objects in a program with a peak: how many of its objects stay, and for how long.
struct peak_site {
  int one_of = 1;
  enum class end { at_peak, after_births, at_exit, never } dies = end::at_peak;
};

/// Effects: builds objects of both sites in turn up to a peak; `varied`: of several sizes.
void play_peak(scene& s, const std::vector<std::uint32_t>& stacks, const std::vector<peak_site>& sites, bool varied,
               bool more_births) {
  std::vector<std::vector<std::uint64_t>> live(sites.size());
  for (int i = 0; i < 16'000; ++i)
    for (std::size_t k = 0; k < sites.size(); ++k)
      if (i % sites[k].one_of == 0)
        live[k].push_back(s.allocate(varied ? 40 + static_cast<std::uint64_t>(i % 5) * 16 : 48, stacks[k]));
  const auto free_those = [&](peak_site::end when) {
    std::vector<std::uint64_t> all;
    for (std::size_t k = 0; k < sites.size(); ++k)
      if (sites[k].dies == when) all.insert(all.end(), live[k].begin(), live[k].end());
    std::ranges::sort(all);
    for (const std::uint64_t object : all) s.free(object);
  };
  free_those(peak_site::end::at_peak);
  for (int i = 0; more_births && i < 12'000; ++i) s.free(s.allocate(700, stacks.back()));
  free_those(peak_site::end::after_births);
  for (int i = 0; more_births && i < 100; ++i) s.free(s.allocate(700, stacks.back()));
  free_those(peak_site::end::at_exit);
}

TEST(advise_plan, no_site_shares_a_group_with_one_that_it_outlives) {
  using end = peak_site::end;
  struct row {
    std::vector<peak_site> sites;
    bool more_births, together;
  };
  const std::vector<row> rows = {{{{}, {8, end::never}}, true, false},
                                 {{{}, {8, end::at_exit}}, true, false},
                                 {{{}, {8, end::after_births}}, true, false},
                                 {{{8, end::never}, {}}, true, false},
                                 {{{}, {8, end::never}}, false, false},
                                 {{{}, {8, end::at_exit}}, false, false},
                                 {{{}, {}}, true, true},
                                 {{{}, {}}, false, true},
                                 {{{}, {8, end::at_peak}}, true, true},
                                 {{{1, end::never}, {8, end::never}}, true, true},
                                 {{{1, end::at_exit}, {8, end::at_exit}}, true, true},
                                 {{{1, end::after_births}, {8, end::after_births}}, true, true}};
  for (const bool varied : {false, true})
    for (std::size_t i = 0; i < rows.size(); ++i) {
      scene s;
      const std::vector<std::uint32_t> stacks = {s.stack({0x1100}), s.stack({0x1200}), s.stack({0x1300})};
      play_peak(s, stacks, rows[i].sites, varied, rows[i].more_births);
      s.play();
      EXPECT_EQ(most_sites_of(group_sites(s.tree, s.seen(), {})), rows[i].together ? 2U : 1U)
          << "row " << i << (varied ? " of several sizes" : "");
    }
}

/// Effects: builds 16,000 objects of both stacks in turn and frees them, but for one of the second in `kept_one_of`;
/// these die at the exit, after a few births of `other`.
void play_survivors(scene& s, const std::vector<std::uint32_t>& stacks, std::uint32_t other, bool varied,
                    std::size_t kept_one_of) {
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 16'000; ++i)
    for (const std::uint32_t stack : stacks) live.push_back(s.allocate(varied ? 40 + i % 5 * 16 : 48, stack));
  const auto is_kept = [kept_one_of](std::size_t i) { return i % (2 * kept_one_of) == 1; };
  for (std::size_t i = 0; i < live.size(); ++i)
    if (!is_kept(i)) s.free(live[i]);
  for (int i = 0; i < 100; ++i) s.free(s.allocate(700, other));
  for (std::size_t i = 0; i < live.size(); ++i)
    if (is_kept(i)) s.free(live[i]);
}

TEST(advise_plan, few_survivors_that_keep_most_chunks_share_them_with_no_other_site) {
  for (const bool varied : {false, true})
    for (const std::size_t kept_one_of : {100U, 16'000U}) {
      scene s;
      const auto dies = s.stack({0x1100}), stays = s.stack({0x1200});
      play_survivors(s, {dies, stays}, s.stack({0x1300}), varied, kept_one_of);
      s.play();
      const site_groups found = group_sites(s.tree, s.seen(), {});
      EXPECT_EQ(found.groups.size(), kept_one_of == 100 ? 2U : 1U)
          << kept_one_of << (varied ? " of several sizes" : "");
      std::uint64_t held = 0;
      for (const site_group& group : found.groups) held += group.left_held_bytes;
      EXPECT_EQ(held, s.site(dies).at_last_birth.arena_bytes + s.site(stays).at_last_birth.arena_bytes) << kept_one_of;
    }
}

TEST(advise_plan, what_survivors_keep_of_shared_chunks_is_counted) {
  scene s;
  const std::vector<std::uint32_t> stacks = {s.stack({0x1100}), s.stack({0x1200}), s.stack({0x1300})};
  std::vector<std::uint64_t> live;  // alone the first site would have one chunk
  for (std::size_t i = 0; i < 64'000; ++i) live.push_back(s.allocate(48, stacks[i % 64 == 0 ? 0 : 1]));
  for (std::size_t i = 0; i < live.size(); ++i)
    if (i % 24'000 != 0) s.free(live[i]);
  for (int i = 0; i < 100; ++i) s.free(s.allocate(700, stacks[2]));
  for (std::size_t i = 0; i < live.size(); i += 24'000) s.free(live[i]);
  s.play();
  const site_groups found = group_sites(s.tree, s.seen(), {});
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].nodes.size(), 2U);
  EXPECT_EQ(s.site(stacks[0]).at_last_birth.arena_bytes, counted_arena_model::chunk_bytes);
  EXPECT_EQ(found.groups[0].left_held_bytes, 4 * counted_arena_model::chunk_bytes) << "three, and the one being filled";
}

TEST(advise_plan, a_pool_keeps_no_more_than_its_peak_in_any_order_of_frees) {
  scene s;
  const auto stack = s.stack({0x1100});
  std::vector<std::uint64_t> live;
  for (int i = 0; i < 16'000; ++i) live.push_back(s.allocate(48, stack));
  std::minstd_rand random;
  for (int i = 0; i < 64'000; ++i) {
    std::uint64_t& block = live[random() % live.size()];
    s.free(block);
    block = s.allocate(48, stack);
  }
  for (const std::uint64_t block : live) s.free(block);
  s.play();
  const site_groups found = group_sites(s.tree, s.seen(), {});
  ASSERT_EQ(found.groups.size(), 1U);
  const std::uint64_t pool = pool_model::of(48, live.size(), 16).held_bytes;
  EXPECT_EQ(found.groups[0].left_held_bytes, pool);
  EXPECT_GT(s.site(stack).at_last_birth.arena_bytes, 2 * pool) << "an arena's chunks would have holes";
}

}  // namespace
