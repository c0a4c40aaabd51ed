// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of memory laid out in advance, and of the guard that follows a plan and falls back to a heap.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/detail/planner/generate.hpp>
#include <ashlar/plan/pack.hpp>
#include <ashlar/plan/solve.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/static_arena.hpp>
#include <ashlar/resource/static_arena_guard.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

namespace plan = ashlar::plan;
using plan::buffer;

constexpr std::array<buffer, 3> lives{buffer::half_open(0, 64, 0, 2, 8), buffer::half_open(1, 32, 1, 3, 8),
                                      buffer::half_open(2, 64, 2, 4, 8)};
constexpr auto layout = plan::solve(lives);
static_assert(layout.lower_bound == 96 && layout.height == 96);
static_assert(plan::solve(std::array{buffer::half_open(0, 1, 1, 3), buffer::half_open(1, 2, 0, 1),
                                     buffer::half_open(2, 2, 2, 3), buffer::half_open(3, 1, 0, 2)})
                      .height == 3,
              "4, the largest first");

TEST(static_arena, adds_the_planned_offset) {
  alignas(8) std::array<std::byte, layout.height> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), layout);
  for (std::size_t i = 0; i < lives.size(); ++i) EXPECT_EQ(arena.get(i), memory.data() + layout.offsets[i]);
  EXPECT_EQ(arena.get(0), arena.get(2)) << "never live together";
  EXPECT_TRUE(arena.owns(memory.data()));
  EXPECT_FALSE(arena.owns(memory.data() + layout.height));
}

TEST(static_arena, gives_typed_storage_of_a_run_time_plan) {
  const plan::problem p{.buffers = {lives.begin(), lives.end()}};
  const plan::layout planned = plan::solve(p);
  alignas(8) std::array<std::byte, 256> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), planned);
  *arena.get<std::uint64_t>(1) = 7;
  EXPECT_EQ(*arena.get<std::uint64_t>(1), 7u);
}

TEST(static_arena, follows_the_clock_of_the_plan) {
  alignas(8) std::array<std::byte, layout.height> memory{};
  ashlar::static_arena arena(memory.data(), memory.size(), layout, lives);
  for (std::uint64_t now = 0; now < 4; ++now) {
    arena.advance(now);
    for (std::size_t i = 0; i < lives.size(); ++i)
      if (lives[i].birth <= now && now < lives[i].death) *arena.get(i) = std::byte{1};
  }
}

TEST(static_arena, stands_on_any_buffer) {
  std::vector<std::byte> memory(layout.height + 8);
  const auto room = std::span(memory).subspan(ashlar::address_of(memory.data()) % 8 == 0 ? 0 : 4);
  const ashlar::static_arena arena(room, layout);
  EXPECT_EQ(arena.get(1), room.data() + layout.offsets[1]);
}

TEST(static_arena, takes_one_block_of_any_resource_and_gives_it_back) {
  ashlar_test::counting_resource<> upstream;
  {
    const ashlar::static_arena arena(upstream, layout, 64);
    EXPECT_EQ(upstream.balance().blocks, 1u);
    EXPECT_EQ(upstream.balance().bytes, layout.height);
    EXPECT_TRUE(ashlar::is_aligned(arena.base(), 64));
    *arena.get<std::uint64_t>(0) = 1;
  }
  EXPECT_EQ(upstream.balance().blocks, 0u);
  alignas(8) std::array<std::byte, layout.height> memory{};
  ashlar::buffer_resource buffer(memory);
  const ashlar::static_arena arena(buffer, layout, 8, lives);
  EXPECT_EQ(arena.base(), memory.data());
}

TEST(static_arena, overwrites_what_dies) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP();
  alignas(8) std::array<std::byte, layout.height> memory{};
  using arena_type = ashlar::static_arena<decltype(layout)>;
  arena_type arena(memory.data(), memory.size(), layout, lives);
  std::memset(arena.get(0), 0x11, 64);
  arena.advance(1);
  std::memset(arena.get(1), 0x22, 32);
  EXPECT_EQ(*arena.get(0), std::byte{0x11}) << "still live";
  arena.advance(2);
  EXPECT_EQ(*arena.get(2), std::byte{arena_type::dead_byte}) << "in the place of the first, which died";
  EXPECT_EQ(*arena.get(1), std::byte{0x22});
}

TEST(static_arena, leaves_alone_what_an_alias_still_needs) {
  plan::problem p{.buffers = {buffer::half_open(0, 64, 0, 2, 8), buffer::half_open(1, 64, 1, 3, 8)}};
  p.aliases.push_back({0, 1});
  const plan::layout planned = plan::solve(p);
  alignas(8) std::array<std::byte, 64> memory{};
  ashlar::static_arena arena(memory.data(), memory.size(), planned, p.buffers);
  *arena.get(0) = std::byte{7};
  arena.advance(1);
  arena.advance(2);
  EXPECT_EQ(*arena.get(1), std::byte{7});
}

TEST(static_arena_death, refuses_a_buffer_that_is_not_live) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP();
  alignas(8) std::array<std::byte, layout.height> memory{};
  const ashlar::static_arena arena(memory.data(), memory.size(), layout, lives);
  EXPECT_DEATH(static_cast<void>(arena.get(2)), "not live");
  EXPECT_DEATH(static_cast<void>(arena.get(3)), "not planned");
  EXPECT_DEATH(static_cast<void>(ashlar::static_arena(memory.data(), 8, layout)), "less memory than its layout needs");
  EXPECT_DEATH(static_cast<void>(ashlar::static_arena(memory.data() + 1, layout.height, layout, lives)), "misaligned");
}

namespace planner = ashlar::detail::planner;
using ashlar_test::counting_resource;
using plan::step;

struct table {
  std::vector<std::uint64_t> offsets, sizes;
  std::uint64_t height = 0, alignment = 16;
};

using heap_ref = ashlar::resource_ref<counting_resource<>>;
using guard = ashlar::static_arena_guard<table, heap_ref>;

/// +0 +1 -0 +2 -1 -2: the third buffer has the address of the first.
const table three{{0, 64, 0}, {64, 32, 48}, 96};
const std::array<std::uint32_t, 6> steps{step::birth(0).code, step::birth(1).code, step::death(0).code,
                                         step::birth(2).code, step::death(1).code, step::death(2).code};

struct phase : testing::Test {
  alignas(16) std::array<std::byte, 96> memory{};
  counting_resource<> heap;
  guard followed{memory.data(), memory.size(), three, steps, heap};

  void* at(std::size_t offset) { return memory.data() + offset; }
};
using static_arena_guard = phase;

TEST_F(static_arena_guard, gives_the_planned_addresses) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(followed.begin());
    EXPECT_EQ(followed.allocate(64, 16), at(0));
    EXPECT_EQ(followed.allocate(32, 8), at(64));
    followed.deallocate(at(0), 64, 16);
    EXPECT_EQ(followed.allocate(40, 16), at(0)) << "smaller than planned is as good";
    followed.deallocate(at(64), 32, 8);
    followed.deallocate(at(0), 40, 16);
    EXPECT_FALSE(followed.diverged());
    EXPECT_EQ(followed.followed(), steps.size());
  }
  EXPECT_EQ(heap.allocations(), 0u);
}

TEST_F(static_arena_guard, falls_back_when_more_alignment_is_wanted) {
  EXPECT_EQ(followed.allocate(64, 16), at(0));
  const bool lucky = ashlar::is_aligned(at(64), 4096);
  void* const p = followed.allocate(32, 4096);
  EXPECT_EQ(followed.diverged(), !lucky);
  followed.deallocate(p, 32, 4096);
  followed.deallocate(at(0), 64, 16);
}

TEST_F(static_arena_guard, gives_no_byte_out_twice_when_a_free_comes_late) {
  void* const a = followed.allocate(64, 16);
  void* const b = followed.allocate(32, 16);
  void* const c = followed.allocate(48, 16);  // the plan frees the first before
  EXPECT_TRUE(followed.diverged());
  EXPECT_EQ(heap.balance().blocks, 1u);
  EXPECT_FALSE(followed.begin()) << "the first two are still in the arena";
  followed.deallocate(a, 64, 16);
  followed.deallocate(b, 32, 16);
  followed.deallocate(c, 48, 16);
  EXPECT_TRUE(followed.begin());
}

TEST_F(static_arena_guard, falls_back_past_the_end_of_the_plan) {
  guard empty(memory.data(), memory.size(), three, {}, heap);
  void* const p = empty.try_allocate(1, 1);
  EXPECT_TRUE(empty.diverged());
  empty.deallocate(p, 1, 1);
}

TEST_F(static_arena_guard, takes_frees_of_older_blocks_for_no_step_of_the_plan) {
  guard later(memory.data(), memory.size(), three, steps, heap);
  void* const old = later.allocate(1000, 16);
  ASSERT_TRUE(later.begin());
  void* const a = later.allocate(64, 16);
  later.deallocate(old, 1000, 16);
  EXPECT_FALSE(later.diverged());
  EXPECT_EQ(later.allocate(32, 16), at(64));
  later.deallocate(a, 64, 16);
  later.deallocate(at(64), 32, 16);
}

using static_arena_guard_death = phase;

TEST_F(static_arena_guard_death, wrong_frees_of_planned_blocks_are_reported_in_the_plan_and_out_of_it) {
  if (ashlar::checking_level < ashlar::checking::checked) GTEST_SKIP() << "not looked at";
  followed.deallocate(followed.allocate(1000, 16), 1000, 16);  // leaves the plan
  ASSERT_TRUE(followed.begin());
  void* const a = followed.allocate(64, 16);
  void* const b = followed.allocate(32, 16);
  for (const bool in_plan : {true, false}) {
    if (!in_plan) followed.deallocate(followed.allocate(1000, 16), 1000, 16);
    ASHLAR_EXPECT_DEATH((followed.deallocate(a, 64, 16), followed.deallocate(a, 64, 16)),
                        "ashlar: double_free: freed a planned block that is free, pointer 0x*, resource 0x*");
    ASHLAR_EXPECT_DEATH((followed.deallocate(b, 32, 16), followed.deallocate(b, 32, 16)),
                        "ashlar: double_free: freed a planned block that is free, pointer 0x*, resource 0x*");
    ASHLAR_EXPECT_DEATH(followed.deallocate(at(16), 64, 16),
                        "ashlar: misaligned_free: freed a pointer into the middle of a planned block, pointer 0x*, "
                        "resource 0x*");
    ASHLAR_EXPECT_DEATH(followed.deallocate(a, 65, 16),
                        "ashlar: size_mismatch: freed a planned block with more bytes than were planned, pointer 0x*, "
                        "resource 0x*, expected 64, got 65");
  }
  followed.deallocate(a, 40, 16);
  followed.deallocate(b, 32, 16);
}

TEST_F(static_arena_guard, blocks_of_an_earlier_run_may_come_late) {
  void* const a = followed.allocate(64, 16);
  ASSERT_FALSE(followed.begin());
  void* const other = followed.allocate(64, 16);
  EXPECT_NE(other, a);
  followed.deallocate(a, 64, 16);
  followed.deallocate(other, 64, 16);
  ASSERT_TRUE(followed.begin());
  EXPECT_EQ(followed.allocate(64, 16), a);
  followed.deallocate(a, 64, 16);
}

/// Follows a random plan, with occasional deviations.
TEST(static_arena_guard_random, keeps_blocks_apart_for_any_program) {
  planner::splitmix random(7);
  for (int round = 0; round < 60; ++round) {
    plan::problem p;
    for (std::uint64_t i = 0; i < 20; ++i)
      p.buffers.push_back(
          plan::buffer::half_open(i, 1 + random.below(64), 2 * i, 2 * i + 1 + 2 * random.below(12), 16));
    const plan::layout l = plan::solve(p, {.effort = plan::effort::fast});
    table t{l.offsets, {}, l.height, 16};
    std::vector<std::uint32_t> codes;
    for (const plan::buffer& b : p.buffers) t.sizes.push_back(b.size);
    for (const step s : plan::steps_of(p.buffers)) codes.push_back(s.code);
    const auto height = static_cast<std::size_t>(t.height);
    std::vector<std::byte> memory(height + 16);
    std::byte* const base = ashlar::align_up(memory.data(), 16);
    counting_resource<> heap;
    guard g(base, height, t, codes, heap);
    const std::uint64_t odd = random.below(60);  // the deviating step, if any
    std::vector<std::pair<std::byte*, std::size_t>> live(p.buffers.size());
    const auto end = [&](std::size_t i) {
      if (live[i].first == nullptr) return;
      for (std::size_t k = 0; k < live[i].second; ++k) ASSERT_EQ(live[i].first[k], static_cast<std::byte>(i));
      g.deallocate(std::exchange(live[i].first, nullptr), live[i].second, 16);
    };
    for (std::size_t k = 0; k < codes.size(); ++k) {
      const step s{codes[k]};
      if (k == odd && s.dies()) continue;
      if (s.dies()) {
        end(s.buffer());
        continue;
      }
      const std::size_t bytes = static_cast<std::size_t>(p.buffers[s.buffer()].size) + (k == odd ? 1 : 0);
      live[s.buffer()] = {static_cast<std::byte*>(g.allocate(bytes, 16)), bytes};
      for (std::size_t at = 0; at < bytes; ++at) live[s.buffer()].first[at] = static_cast<std::byte>(s.buffer());
    }
    EXPECT_EQ(g.diverged(), odd + 1 < codes.size()) << odd << ": a free that never came is noticed by the next step";
    for (std::size_t i = 0; i < live.size(); ++i) end(i);
    EXPECT_EQ(g.planned_live(), 0u);
  }
}

struct subject : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;  // not while the heap refuses
  alignas(16) std::array<std::byte, 96> memory{};
  counting_resource<> upstream;
  guard resource{memory.data(), memory.size(), three, steps, upstream};
};

const bool tested = ashlar_test::conforms<subject>("static_arena_guard");

}  // namespace
