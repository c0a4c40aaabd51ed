// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of tiered_heap: one free for all tiers, owners, statistics by tier, threads, faults; and of plans as types.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/serialised_ref.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

namespace plan = ashlar::plan;
using ashlar::heap_tier;
using ashlar_test::in_a_thread;
using ashlar_test::stamped_block;
using plan::buffer;

enum buffer_id : std::size_t { shadow, light, bloom, late };

// The last two are never live together with the first.
constexpr std::array<buffer, 4> buffers{buffer::half_open(shadow, 4096, 0, 2, 256), buffer::half_open(light, 300, 0, 9),
                                        buffer::half_open(bloom, 1000, 2, 9, 16), buffer::half_open(late, 96, 3, 9, 8)};
constexpr auto layout = plan::solve(buffers);
using frame = ashlar::static_plan<layout, buffers>;
using tiered = ashlar::tiered_heap<frame>;

// `heap` has this call with a new size and an alignment, which must not be taken for two sizes.
template <class Heap>
concept reallocates_by_two_numbers = requires(Heap& heap, void* p, std::size_t n) { heap.try_reallocate(p, n, n); };
static_assert(reallocates_by_two_numbers<ashlar::heap<>> && !reallocates_by_two_numbers<tiered>);

struct table {
  std::array<std::uint64_t, 3> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr table unlimited{{0, 64, 1024}, {64, 900, 32}, 1056, 64};  // without lifetimes

struct blocks_in_tiers : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;
  ashlar::tiered_heap<ashlar::static_plan<unlimited>> resource{{.max_bytes = std::size_t{16} << 20}};
};

const bool tested = ashlar_test::conforms<blocks_in_tiers>("tiered_heap");

TEST(tiered_heap, takes_back_blocks_of_all_tiers_by_one_call) {
  tiered memory;
  std::vector<stamped_block> blocks;
  const auto fill = [&](std::uint64_t seed) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{5000}, std::size_t{200'000}})
      blocks.push_back({memory.allocate(bytes), bytes, seed + bytes});
  };
  for (const bool sized : {false, true}) {
    fill(1);
    in_a_thread([&] { fill(2); });
    blocks.push_back({memory.allocate(std::size_t{5} << 20), std::size_t{5} << 20, 3});
    for (const std::size_t id : {shadow, light}) blocks.push_back({memory.resolve(id), frame::size_of(id), id});
    for (const stamped_block& each : blocks) each.write();
    for (const stamped_block& each : blocks) EXPECT_TRUE(each.is_intact() && memory.owns(each.p)) << each.bytes;
    for (const stamped_block& each : blocks) sized ? memory.deallocate(each.p, each.bytes) : memory.deallocate(each.p);
    blocks.clear();
    EXPECT_TRUE(memory.invariant());
  }
  memory.deallocate(nullptr);
  static_cast<void>(memory.trim());
  EXPECT_EQ(memory.dynamic().held_bytes(), 0u);
  *memory.resolve(light) = std::byte{1};  // the memory of the plan stays
}

TEST(tiered_heap, gives_the_tier_of_a_block) {
  tiered memory;
  void* const mine = memory.allocate(64);
  void* const huge = memory.allocate(std::size_t{5} << 20);
  void* theirs = nullptr;
  in_a_thread([&] {
    theirs = memory.allocate(64);
    EXPECT_EQ(memory.tier_of(theirs), heap_tier::own);
    EXPECT_EQ(memory.tier_of(mine), heap_tier::shared) << "it depends on who asks";
    EXPECT_EQ(memory.tier_of(memory.resolve(light) + 1), heap_tier::planned);
  });
  EXPECT_EQ(memory.tier_of(mine), heap_tier::own);
  EXPECT_EQ(memory.tier_of(theirs), heap_tier::shared);
  EXPECT_EQ(memory.tier_of(huge), heap_tier::shared);
  EXPECT_EQ(memory.tier_of(memory.planned().data), heap_tier::planned);
  const auto planned = memory.planned();
  EXPECT_EQ(memory.tier_of(static_cast<std::byte*>(planned.data) + planned.size - 1), heap_tier::planned);
  EXPECT_NE(memory.tier_of(static_cast<std::byte*>(planned.data) + planned.size), heap_tier::planned);
  EXPECT_NE(memory.tier_of(static_cast<std::byte*>(planned.data) - 1), heap_tier::planned);
  const int local = 0;
  EXPECT_EQ(memory.tier_of(&local), heap_tier::none);
  EXPECT_EQ(memory.tier_of(nullptr), heap_tier::none);
  EXPECT_FALSE(memory.owns(&local) || memory.owns(nullptr));
  auto token = memory.dynamic().detach();
  EXPECT_EQ(memory.tier_of(mine), heap_tier::shared) << "handed over";
  in_a_thread([&] {
    memory.dynamic().adopt(std::move(token));
    EXPECT_EQ(memory.tier_of(mine), heap_tier::own);
  });
  for (void* const each : {mine, theirs, huge}) memory.deallocate(each);
}

TEST(tiered_heap, resolves_by_number_by_constant_and_by_type) {
  tiered memory;
  const auto* const base = static_cast<std::byte*>(memory.planned().data);
  EXPECT_TRUE(memory.planned().size == layout.height && ashlar::is_aligned(base, 256));
  EXPECT_EQ(memory.resolve(light), base + layout.offsets[light]);
  EXPECT_EQ(memory.resolve<shadow>(), base + layout.offsets[shadow]);
  memory.advance(3);
  EXPECT_EQ(static_cast<void*>(memory.resolve<std::uint64_t>(late)), memory.resolve<late>());
}

TEST(tiered_heap, places_the_plan_in_its_upstream_or_in_given_memory) {
  using upstream_ref = ashlar_test::serialised_ref<ashlar_test::counting_resource<>>;
  ashlar_test::counting_resource<> upstream;
  {
    ashlar::tiered_heap<frame, upstream_ref> memory({}, upstream_ref(upstream));
    EXPECT_EQ(upstream.balance().bytes, layout.height);
    memory.deallocate(memory.allocate(10));
    memory.deallocate(memory.resolve(shadow));
    memory.release();
    EXPECT_GE(upstream.balance().bytes, layout.height);
    alignas(256) std::array<std::byte, layout.height + 256> given{};
    ashlar::tiered_heap<frame, upstream_ref> other(std::span<std::byte>(given).subspan(256), {},
                                                   upstream_ref(upstream));
    EXPECT_EQ(other.planned().data, given.data() + 256);
    EXPECT_EQ(other.tier_of(given.data()), heap_tier::none);
    EXPECT_FALSE(other.owns(memory.planned().data)) << "each its own";
    EXPECT_FALSE(other == memory);
  }
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
#if ASHLAR_HAS_EXCEPTIONS
  upstream.fail_from(0);
  EXPECT_THROW((ashlar::tiered_heap<frame, upstream_ref>({}, upstream_ref(upstream))), std::bad_alloc);
#endif
}

TEST(tiered_heap, moves_out_of_the_plan_what_grows_beyond_it) {
  tiered memory;
  stamped_block block{memory.resolve(light), 300, 7};
  block.write();
  EXPECT_EQ(memory.reallocate(block.p, 300, 200, 16), block.p);
  EXPECT_FALSE(memory.try_expand(block.p, 200, 301, 1));
  void* const wider = memory.reallocate(block.p, 300, 5000, 16);
  EXPECT_EQ(memory.tier_of(wider), heap_tier::own);
  block.p = wider;
  EXPECT_TRUE(block.is_intact());
  void* const widest = memory.reallocate(wider, 5000, 90'000, 16);
  block.p = widest;
  EXPECT_TRUE(block.is_intact() && memory.tier_of(widest) == heap_tier::own);
  memory.deallocate(widest);
  memory.deallocate(memory.reallocate(nullptr, 0, 10, 16));
  EXPECT_EQ(memory.try_reallocate(memory.resolve(light), 300, ashlar::max_size / 2, 16), nullptr);
}

TEST(tiered_heap, knows_figures_by_tier) {
  tiered memory;
  std::vector<void*> mine, theirs;
  for (int i = 0; i < 1000; ++i) mine.push_back(memory.allocate(64));
  in_a_thread([&] {
    for (int i = 0; i < 300; ++i) theirs.push_back(memory.allocate(100));
    theirs.push_back(memory.allocate(100'000));
  });
  void* const huge = memory.allocate(std::size_t{5} << 20);
  ashlar::tier_statistics sums = memory.statistics();
  EXPECT_TRUE(sums.planned.buffers == 4 && sums.planned.planned_bytes == layout.height);
  EXPECT_TRUE(sums.planned.live_buffers == 2 && sums.planned.live_bytes == 4396);
  EXPECT_TRUE(sums.own.invariant() && sums.shared.invariant());
  EXPECT_EQ(sums.own.all.live_blocks, 1000u);
  EXPECT_EQ(sums.shared.all.live_blocks, 302u);
  EXPECT_TRUE(sums.shared.spans.live_blocks == 1 && sums.shared.huge.live_blocks == 1);
  EXPECT_EQ(sums.own.held_bytes + sums.shared.held_bytes, memory.dynamic().held_bytes());
  EXPECT_GT(sums.table_bytes, 0u);
  EXPECT_EQ(sums.cached_bytes, 0u) << "whoever has ended has nothing at hand";
  memory.deallocate(huge);
  for (void* const each : theirs) memory.deallocate(each);
  for (std::size_t i = 0; i < 400; ++i) memory.deallocate(mine[i]);
  memory.advance(3);
  sums = memory.statistics();
  EXPECT_EQ(sums.own.all.live_blocks, 600u);
  EXPECT_EQ(sums.shared.all.live_blocks, 0u) << "sent, and taken in";
  EXPECT_TRUE(sums.planned.live_buffers == 3 && sums.planned.live_bytes == 1396);
  memory.release();
}

// Each of three threads leaves its blocks in a table, frees what lies there, and resolves planned buffers meanwhile.
TEST(tiered_heap, serves_three_threads_at_once_while_a_fourth_looks) {
  tiered memory;
  std::array<std::atomic<stamped_block*>, 100> table = {};
  const auto give = [&](stamped_block* of) {
    if (of == nullptr) return;
    const stamped_block block = *of;
    EXPECT_TRUE(block.is_intact() && memory.tier_of(block.p) != heap_tier::planned);
    block.stamp % 2 == 0 ? memory.deallocate(block.p) : memory.deallocate(block.p, block.bytes);
    memory.deallocate(of);
  };
  const auto work = [&](std::size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (std::size_t left = ashlar_test::stress_rounds(20'000); left != 0; --left) {
      const std::size_t bytes = 1 + random() % (random() % 64 == 0 ? 100'000 : 500);
      auto* const made =
          ::new (memory.allocate(sizeof(stamped_block))) stamped_block{memory.allocate(bytes), bytes, random()};
      made->write();
      give(table[random() % table.size()].exchange(made));
      EXPECT_EQ(memory.tier_of(memory.resolve(light) + thread), heap_tier::planned);
      memory.resolve(light)[thread] = std::byte{1};
      memory.deallocate(memory.resolve(light));
    }
  };
  std::atomic<bool> is_done = false;
  std::thread looks([&] {
    for (bool last = false; !last;) {
      last = is_done;
      const ashlar::tier_statistics sums = memory.statistics();
      EXPECT_TRUE(sums.own.all.live_blocks == 0 && sums.shared.invariant() && sums.planned.live_buffers == 2);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  ashlar_test::on_threads(3, work);
  is_done = true;
  looks.join();
  for (auto& each : table) give(each);
  EXPECT_EQ(memory.statistics().shared.all.live_blocks, 0u);
  EXPECT_TRUE(memory.invariant());
  static_cast<void>(memory.trim());
  EXPECT_EQ(memory.dynamic().held_bytes(), 0u);
}

// The same three buffers planned by the compiler, by a written table and at the start of the program.
namespace plans {

constexpr std::array<buffer, 3> lives{buffer::half_open(0, 64, 0, 2, 64), buffer::half_open(1, 32, 1, 3, 8),
                                      buffer::half_open(2, 64, 2, 4, 8)};
constexpr auto layout = plan::solve(lives);
using with_lives = ashlar::static_plan<layout, lives>;

// In the form of `ashlar plan --header`.
struct table {
  std::array<std::uint64_t, 2> ids, offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr table written{{7, 8}, {0, 128}, {100, 50}, 178, 32};
using of_table = ashlar::static_plan<written>;

const std::vector<buffer> starts(lives.begin(), lives.end());  // clang 16 takes no member of an object
const plan::layout made = plan::solve(plan::problem{.buffers = starts});
using of_start = ashlar::static_plan<made, starts>;

}  // namespace plans

using plans::of_start;
using plans::of_table;
using plans::with_lives;

static_assert(with_lives::has_lives && with_lives::alignment() == 64 && with_lives::size_of(1) == 32);
static_assert(with_lives::is_live(2, 2) && !with_lives::is_live(2, 4));
static_assert(!of_table::has_lives && of_table::alignment() == 32 && of_table::bytes() == 178);
static_assert(of_table::size_of(1) == 50 && of_table::is_live(1, 99));

TEST(static_plan, made_when_the_program_starts_is_the_one_made_by_the_compiler) {
  ASSERT_EQ(of_start::count(), with_lives::count());
  EXPECT_EQ(of_start::bytes(), with_lives::bytes());
  EXPECT_EQ(of_start::alignment(), 64u);
  for (std::size_t i = 0; i < of_start::count(); ++i) {
    EXPECT_EQ(of_start::size_of(i), with_lives::size_of(i));
    EXPECT_EQ(of_start::offset_of(i) % plans::lives[i].alignment, 0u);
  }
}

}  // namespace
