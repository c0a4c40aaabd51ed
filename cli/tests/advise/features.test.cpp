// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The features of call sites, and the simulations, from short sequences of events with known answers; the table of live
// objects by slots, against a map.
#include "cli/advise/features.hpp"
#include "cli/advise/advice.hpp"
#include "cli/advise/call_tree.hpp"
#include "cli/advise/live_objects.hpp"
#include "cli/advise/models.hpp"
#include "cli/advise/observer.hpp"
#include "cli/tests/advise/scene.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar;
using namespace ashlar::cli;

using ashlar_test::scene;
using ashlar_test::starts;

TEST(advise_tree, nodes_stand_where_chains_part) {
  scene s;
  const auto a = s.stack({0x1100, 0x1200, 0x1300});
  const auto b = s.stack({0x1100, 0x1200, 0x1400});
  const auto c = s.stack({0x1500, 0x1200, 0x1300});
  s.play();
  ASSERT_EQ(s.tree.levels(a).size(), 2U);
  EXPECT_EQ(s.tree.levels(a)[0], s.tree.levels(b)[0]);
  EXPECT_NE(s.tree.levels(a)[1], s.tree.levels(b)[1]);
  EXPECT_EQ(s.tree.nodes()[s.tree.levels(a)[1]].depth, 3U) << "the second frame decides nothing";
  EXPECT_EQ(s.tree.levels(c).size(), 1U);
  const site_frame& frame = s.tree.frame(s.tree.frames(a)[0]);
  EXPECT_EQ(frame.offset, 0x100U);
  EXPECT_EQ(s.tree.modules()[frame.module].build_id, "ab12");
}

TEST(advise_tree, a_stack_within_another_parts_from_it) {
  scene s;
  const auto whole = s.stack({0x1100, 0x1200, 0x1300});
  const auto cut = s.stack({0x1100});
  s.play();
  EXPECT_EQ(s.tree.levels(cut).size(), 1U);
  EXPECT_EQ(s.tree.levels(whole).size(), 2U);
}

TEST(advise_tree, a_recursion_counts_once_and_no_chain_goes_through_it) {
  scene s;
  const auto once = s.stack({0x1100, 0x1200, 0x1300}), more = s.stack({0x1100, 0x1200, 0x1200, 0x1200, 0x1300});
  const auto other = s.stack({0x1100, 0x1200, 0x1400});
  s.play();
  EXPECT_TRUE(std::ranges::equal(s.tree.frames(once), s.tree.frames(more)));
  EXPECT_TRUE(std::ranges::equal(s.tree.levels(once), s.tree.levels(more)));
  const auto outermost = [&s](std::uint32_t stack) { return s.tree.nodes()[s.tree.levels(stack).back()]; };
  EXPECT_EQ(outermost(more).depth, 3U);
  EXPECT_FALSE(outermost(more).is_whole) << "a router would not find it behind two frames";
  EXPECT_TRUE(outermost(other).is_whole);
}

TEST(advise_features, counts_sizes_and_peaks) {
  scene s;
  const auto a = s.stack({0x1100}), b = s.stack({0x1200});
  const auto first = s.allocate(100, a);
  const auto second = s.allocate(100, a);
  const auto third = s.allocate(5000, b);  // the program's peak: 5,200
  s.free(first);
  s.free(third);
  s.free(second);
  s.allocate(40, a);
  s.play();
  const site_features& f = s.site(a);
  EXPECT_EQ(f.allocated, (study::amount{3, 240}));
  EXPECT_EQ(f.sizes.distinct(), 2U);
  EXPECT_EQ(f.peak_bytes, 200U);
  EXPECT_EQ(f.at_program_peak, (study::amount{2, 200}));
  EXPECT_EQ(f.never_freed, (study::amount{1, 40}));
  EXPECT_EQ(f.freed, 2U);
  EXPECT_EQ(f.same_size, 1U);
  EXPECT_EQ(f.lifetime_bytes.count(), 2U);
  EXPECT_EQ(f.lifetime_bytes.max(), 5100U) << "allocated after the birth of the first";
  EXPECT_EQ(f.lifetime_ns.max(), 40U) << "of the second";
  EXPECT_EQ(f.requests[static_cast<std::size_t>(trace::operation::new_)], 3U);
}

TEST(advise_features, temporaries_and_order_of_deaths) {
  scene s;
  const auto a = s.stack({0x1100}), b = s.stack({0x1200});
  const auto kept = s.allocate(8, a);
  const auto temporary = s.allocate(8, a);
  s.free(temporary);  // before the next allocation, youngest of thread and site
  const auto x = s.allocate(8, a), y = s.allocate(8, b);
  s.free(x);     // youngest of its site, not of its thread
  s.free(kept);  // youngest of its site: x is gone
  s.free(y);     // youngest of its thread; freed before the next allocation
  s.play();
  EXPECT_EQ(s.site(a).temporary, 1U);
  EXPECT_EQ(s.site(a).lifo_thread, 1U);
  EXPECT_EQ(s.site(a).lifo_site, 3U);
  EXPECT_EQ(s.site(b).temporary, 1U);
  EXPECT_EQ(s.site(b).lifo_thread, 1U);
}

TEST(advise_features, batches_end_when_nothing_lives) {
  scene s;
  const auto a = s.stack({0x1100});
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 20; ++i) all.push_back(s.allocate(16, a));
    s.free(all.front());
    all.front() = s.allocate(16, a);
    for (const auto object : all) s.free(object);
  }
  s.allocate(16, a);  // an epoch that does not end
  s.play();
  const epoch_features& batches = s.site(a).batches;
  EXPECT_EQ(batches.epochs, 3U);
  EXPECT_EQ(batches.objects, 63U);
  EXPECT_EQ(batches.in_final_runs, 60U);
  EXPECT_EQ(batches.longest_objects, 21U);
}

TEST(advise_features, threads_that_allocate_and_free) {
  scene s;
  const auto a = s.stack({0x1100}), b = s.stack({0x1200});
  s.free(s.allocate(8, a, 0), 0, 1);
  s.free(s.allocate(8, a, 0), 0, 1);
  s.free(s.allocate(8, b, 0), 0, 1);
  s.free(s.allocate(8, b, 2), 0, 3);
  s.play();
  EXPECT_EQ(s.site(a).freed_by_others, 2U);
  EXPECT_FALSE(s.site(a).foreign_deaths.several);
  EXPECT_EQ(s.site(a).foreign_deaths.first, 1U);
  EXPECT_FALSE(s.site(a).births.several);
  EXPECT_TRUE(s.site(b).births.several);
  EXPECT_TRUE(s.site(b).foreign_deaths.several);
}

TEST(advise_features, growth_by_new_blocks_and_by_realloc) {
  scene s;
  const auto a = s.stack({0x1100}), b = s.stack({0x1200});
  std::uint64_t last = 0;
  for (std::uint64_t size = 8; size <= 1024; size *= 2) {
    const auto next = s.allocate(size, a);
    if (last != 0) s.free(last);
    last = next;
  }
  s.free(last);
  auto text = s.allocate(64, b);
  text = s.reallocate(text, 128, b);
  text = s.reallocate(text, 192, b);
  text = s.reallocate(text, 200, b);  // too small a step to be growth
  s.free(text);
  s.play();
  EXPECT_EQ(s.site(a).growth.steps, 7U);
  EXPECT_EQ(s.site(a).growth.chains, 1U);
  EXPECT_EQ(s.site(a).growth.moved_bytes, 8U + 16 + 32 + 64 + 128 + 256 + 512);
  EXPECT_EQ(s.site(a).growth.final_bytes.max(), 1024U);
  EXPECT_EQ(s.site(b).growth.steps, 2U);
  EXPECT_EQ(s.site(b).growth.final_bytes.max(), 192U);
}

TEST(advise_features, owner_is_the_function_whose_call_sees_birth_and_death) {
  scene s;
  // 0x1300 lies in main, which calls the owner; 0x1200 and 0x1210 lie in the owner.
  const auto birth = s.stack({0x1100, 0x1200, 0x1300});
  const auto death = s.stack({0x1150, 0x1180, 0x1210, 0x1300});
  const auto elsewhere = s.stack({0x1150, 0x1400});
  for (int i = 0; i < 3; ++i) s.free(s.allocate(8, birth), death);
  s.free(s.allocate(8, birth), elsewhere);
  s.free(s.allocate(8, birth), death, 1);  // stacks of two threads share no call
  s.play();
  const site_features& f = s.site(birth);
  ASSERT_EQ(f.owners.size(), 1U);
  EXPECT_EQ(s.tree.frame(f.owners.begin()->first.birth).offset, 0x200U);
  EXPECT_EQ(s.tree.frame(f.owners.begin()->first.death).offset, 0x210U);
  EXPECT_EQ(f.owners.begin()->second, 3U);
  EXPECT_EQ(f.without_owner, 2U);
}

TEST(advise_features, several_traces_add_up) {
  scene s;
  const auto a = s.stack({0x1100});
  s.free(s.allocate(8, a));
  s.allocate(24, a);
  const site_observer& seen = s.play(3);
  EXPECT_EQ(s.site(a).allocated, (study::amount{6, 96}));
  EXPECT_EQ(s.site(a).never_freed, (study::amount{3, 72}));
  EXPECT_EQ(s.site(a).at_program_peak, (study::amount{3, 72}));
  EXPECT_EQ(seen.program().traces, 3U);
  EXPECT_EQ(seen.program().peak, (study::amount{3, 72}));
}

TEST(advise_models, a_pool_holds_what_its_peak_needs) {
  const pool_model pool = pool_model::of(50, 2000);
  EXPECT_EQ(pool.cell_bytes, 56U);
  EXPECT_EQ(pool.slabs, 2U) << "1,169 cells in each";
  EXPECT_EQ(pool.held_bytes, 2 * pool_model::slab_bytes);
  EXPECT_EQ(pool.holes, 338U);
  EXPECT_EQ(pool_model::of(50, 0).held_bytes, 0U);
  EXPECT_EQ(pool_model::of(24, 1).cell_bytes, 24U) << "as pool_allocator has them";
  EXPECT_EQ(pool_model::of(24, 1, 16).cell_bytes, 32U) << "as malloc promises";
}

TEST(advise_models, one_survivor_pins_its_chunk) {
  counted_arena_model arena;
  constexpr std::uint64_t size = 1024;
  constexpr std::uint64_t in_chunk = (counted_arena_model::chunk_bytes - counted_arena_model::header_bytes) / size;
  std::vector<std::uint32_t> chunks;
  for (std::uint64_t i = 0; i < 4 * in_chunk; ++i) chunks.push_back(arena.allocate(size));
  EXPECT_EQ(arena.chunks(), 4U);
  EXPECT_DOUBLE_EQ(arena.held_by_live(), 1);
  for (std::size_t i = 1; i < chunks.size(); ++i) arena.release(chunks[i], size);
  EXPECT_EQ(arena.chunks(), 2U) << "that of the survivor, and the one being filled";
  EXPECT_GE(arena.peak_excess_bytes(), 2 * counted_arena_model::chunk_bytes - size);
  arena.release(chunks[0], size);
  EXPECT_EQ(arena.chunks(), 1U);
  EXPECT_EQ(arena.peak_held_bytes(), 4 * counted_arena_model::chunk_bytes);
}

TEST(advise_models, an_arena_of_survivors_holds_many_times_the_live_bytes) {
  counted_arena_model arena;
  std::vector<std::uint32_t> pending;
  for (int i = 0; i < 64 * 100; ++i) {
    const std::uint32_t chunk = arena.allocate(1000);
    if (i % 64 != 0) arena.release(chunk, 1000);
  }
  EXPECT_GT(arena.held_by_live(), 5);
  EXPECT_GT(arena.pinned_chunks(), 50U);
  EXPECT_EQ(arena.allocate(counted_arena_model::largest_bytes + 1), counted_arena_model::no_chunk);
}

TEST(advise_counts, merge_and_quantiles) {
  sparse_counts<2> a, b;
  for (std::uint64_t i = 0; i < 100; ++i) (i % 2 == 0 ? a : b).record(i);
  a.merge(b);
  EXPECT_EQ(a.count(), 100U);
  EXPECT_EQ(a.max(), 99U);
  EXPECT_EQ(a.quantile(1), 99U);
  EXPECT_EQ(a.quantile(0), 0U);
  EXPECT_NEAR(static_cast<double>(a.quantile(0.5)), 50, 13);
  EXPECT_EQ(a.below(64), 64U);
}

TEST(advise_sites, a_call_is_split_only_where_callers_differ) {
  scene s;
  const auto cells = s.stack({0x1100, 0x1200, 0x1500}), more_cells = s.stack({0x1100, 0x1210, 0x1500});
  const auto text = s.stack({0x1300, 0x1200, 0x1500}), texts = s.stack({0x1300, 0x1210, 0x1500});
  std::vector<std::uint64_t> live;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    live.push_back(s.allocate(48, i % 2 == 0 ? cells : more_cells));  // one size at both callers
    live.push_back(i % 2 == 0 ? s.allocate(48, text) : s.allocate(16 + i % 997, texts));
    if (live.size() > 300)
      for (int k = 0; k < 2; ++k) {
        std::swap(live[(i * 7919 + static_cast<std::uint64_t>(k)) % live.size()], live.back());
        s.free(live.back());
        live.pop_back();
      }
  }
  s.play();
  const auto sites = s.advise(advice_limits().with("small.ns", 1000));
  std::map<std::pair<std::uint64_t, std::uint32_t>, remedy> found;
  for (const advised_site& site : sites) {
    const site_node& node = s.tree.nodes()[site.node];
    found[{s.tree.frame(s.tree.frames(node.stack)[0]).offset, node.depth}] = site.rule->proposes;
  }
  EXPECT_EQ(found.size(), 2U) << "the two callers of 0x1300 have one depth";
  EXPECT_EQ(sites.size(), 3U);
  EXPECT_EQ((found[{0x100, 1}]), remedy::pool);
  EXPECT_TRUE((found.contains({0x300, 2})));
}

TEST(advise_sites, callers_with_one_remedy_are_one_site_only_if_it_holds_for_all) {
  for (const std::uint64_t apart : {std::uint64_t{0}, std::uint64_t{16}}) {
    scene s;
    std::vector<std::uint32_t> callers;
    for (std::uint64_t i = 0; i < 6; ++i) callers.push_back(s.stack({0x1300, 0x1200 + 16 * i, 0x1500}));
    std::vector<std::uint64_t> live;
    for (std::uint64_t i = 0; i < 12'000; ++i) {
      const std::uint64_t caller = i % callers.size();
      live.push_back(s.allocate(caller == 0 ? 16 + i % 997 : 48 + caller * apart, callers[caller]));
      if (live.size() <= 600) continue;
      std::swap(live[i * 7919 % live.size()], live.back());
      s.free(live.back());
      live.pop_back();
    }
    s.play();
    const auto sites = s.advise(advice_limits().with("small.ns", 1000));
    const auto pools = std::ranges::count(sites, remedy::pool, [](const advised_site& x) { return x.rule->proposes; });
    EXPECT_EQ(pools, apart == 0 ? 1 : 5) << "five sizes are too many for one pool";
    EXPECT_EQ(sites.size(), static_cast<std::size_t>(pools) + 1);
  }
}

/// Two objects between the marks 1 and 2, of which `first` dies first.
void play_phase(scene& s, std::uint32_t stack, std::uint64_t size, int first = 0) {
  s.mark(1);
  const std::uint64_t objects[] = {s.allocate(size, stack), s.allocate(size, stack)};
  s.free(objects[first]);
  s.free(objects[1 - first]);
  s.mark(2);
}

TEST(phases, that_are_alike_have_the_same_sizes_births_and_deaths) {
  scene s;
  const auto alike = s.stack({0x1100}), sizes = s.stack({0x1200}), deaths = s.stack({0x1300});
  for (int i = 0; i < 6; ++i) {
    play_phase(s, alike, 48);
    play_phase(s, sizes, i == 4 ? 64 : 48);
    play_phase(s, deaths, 48, i == 5 ? 1 : 0);
  }
  s.play();
  const phase_features p = s.phases(alike);
  EXPECT_TRUE(p.all_alike);
  EXPECT_EQ(p.opening, 1U);
  EXPECT_EQ(p.closing, 2U);
  EXPECT_EQ(p.phases, 6U);
  EXPECT_EQ(p.of_program, 18U) << "it has no part in the others";
  EXPECT_EQ(p.objects, 12U);
  EXPECT_FALSE(s.phases(sizes).all_alike);
  EXPECT_FALSE(s.phases(deaths).all_alike);
}

TEST(phases, of_two_traces_are_alike_too) {
  scene s;
  const auto stack = s.stack({0x1100});
  for (int i = 0; i < 3; ++i) play_phase(s, stack, 48);
  s.play(2);
  EXPECT_TRUE(s.phases(stack).all_alike);
  EXPECT_EQ(s.phases(stack).phases, 6U);
  EXPECT_EQ(s.phases(stack).of_program, 6U);
}

TEST(phases, between_other_marks_are_not_alike) {
  scene s;
  const auto stack = s.stack({0x1100});
  play_phase(s, stack, 48);
  s.free(s.allocate(48, stack));
  s.mark(1);
  s.play();
  EXPECT_FALSE(s.phases(stack).all_alike);
}

TEST(phases, of_very_many_objects_are_not_alike) {
  for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{1}}) {
    scene s;
    const auto stack = s.stack({0x1100});
    for (int phase = 0; phase < 2; ++phase) {
      s.mark(7);
      for (std::uint64_t i = 0; i < phase_observer::most_objects + more; ++i) s.free(s.allocate(48, stack));
    }
    s.mark(7);
    s.play();
    EXPECT_EQ(s.phases(stack).all_alike, more == 0);
  }
}

TEST(features, an_object_to_keep_has_the_size_of_nearly_all_requests) {
  scene s;
  const auto stack = s.stack({0x1100});
  for (int i = 0; i < 5000; ++i) s.free(s.allocate(i == 2500 ? 700'000 : 96, stack));
  s.play();
  const auto sites = s.advise();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].rule->name, "temporary");
  EXPECT_TRUE(starts(remedy_text(sites[0], {}), "keep one block of 96 B for all requests"));
}

std::size_t levels_of(std::uint32_t id) { return id % (ashlar::cli::call_tree::most_levels + 1); }

/// Steps at random, of which each ends the object of a slot or makes one.
TEST(live_objects, behave_like_a_map_while_the_table_grows) {
  live_objects table;
  std::map<std::uint32_t, std::uint32_t> handles;  // by slot
  std::mt19937_64 random(5);
  EXPECT_EQ(table.find(1), live_objects::none);
  for (int step = 0; step < 60'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 20'000);
    const auto at = handles.find(id);
    if (at == handles.end()) {
      const std::uint32_t handle = handles[id] = table.add(id, levels_of(id));
      table[handle].size = id * std::uint64_t{3};
      table[handle].born_ns = ~std::uint64_t{id};
      for (std::uint32_t& chunk : table.chunks(handle)) chunk = id + 1;
      continue;
    }
    ASSERT_EQ(table.take_out(id), at->second);
    EXPECT_EQ(table.find(id), live_objects::none);
    table.give_back(at->second);
    handles.erase(at);
  }
  std::multiset<std::uint64_t> there, expected;
  std::set<std::uint32_t> taken;
  table.for_each([&](const live_object& o) { there.insert(o.size); });
  for (const auto& [id, handle] : handles) {
    ASSERT_EQ(table.find(id), handle);
    EXPECT_TRUE(taken.insert(handle).second) << "two objects in one row";
    EXPECT_EQ(table[handle].born_ns, ~std::uint64_t{id});
    ASSERT_EQ(table.chunks(handle).size(), levels_of(id));
    for (const std::uint32_t chunk : table.chunks(handle)) EXPECT_EQ(chunk, id + 1);
    expected.insert(id * std::uint64_t{3});
  }
  EXPECT_EQ(there, expected);
}

}  // namespace
