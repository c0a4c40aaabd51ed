// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the arena of references: blocks that move with it, what is wasted, growth that fails, references to no
// block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/offset_arena.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/pattern.hpp"

namespace {

using ashlar_test::counting_resource;
template <std::size_t UnitBytes>
using counted = ashlar::offset_arena<UnitBytes, ashlar::resource_ref<counting_resource<>>>;
using of_store = ashlar::offset_arena<8>;
using small = counted<4>;

static_assert(sizeof(small::reference) == 4 && small::unit_bytes == 4);
static_assert(std::is_nothrow_move_constructible_v<small> && std::is_nothrow_move_assignable_v<small>);
static_assert(!std::is_copy_constructible_v<small>);
static_assert(noexcept(std::declval<small&>().try_allocate(1)) && !noexcept(std::declval<small&>().allocate(1)));

// Blocks with patterns that a test makes, frees and finds again.
template <class Arena>
struct model {
  struct known {
    typename Arena::reference block;
    std::size_t bytes;
    std::uint32_t seed;
  };

  void add(Arena& in, std::size_t bytes) {
    const auto block = in.allocate(bytes);
    live.push_back({block, bytes, next_seed++});
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(in.deref(block)) % Arena::unit_bytes, 0u);
    ashlar_test::write_pattern(in.deref(block), bytes, live.back().seed);
  }
  void drop(Arena& in, std::size_t i) {
    in.deallocate(live[i].block, live[i].bytes);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void expect_all(const Arena& in) const {
    for (const known& each : live) {
      ASSERT_TRUE(ashlar_test::has_pattern(in.deref(each.block), each.bytes, each.seed));
      ASSERT_EQ(in.reference_of(in.deref(each.block)), each.block);
    }
    ASSERT_TRUE(in.invariant());
  }

  std::vector<known> live;
  std::uint32_t next_seed = 1;
};

// As a solver does when a fifth is wasted: what lives goes to a second arena, which takes the place of the first.
template <class Arena>
void compact(Arena& arena, model<Arena>& all) {
  Arena to(arena.options(), arena.upstream_resource());
  to.reserve(arena.used_bytes() - arena.wasted_bytes());
  for (auto& each : all.live) {
    const auto moved = to.allocate(each.bytes);
    std::copy_n(static_cast<const std::byte*>(arena.deref(each.block)), each.bytes,
                static_cast<std::byte*>(to.deref(moved)));
    each.block = moved;
  }
  arena = std::move(to);
}

template <class Arena>
void live_and_die(Arena& arena) {
  model<Arena> all;
  std::mt19937 random(7);
  for (int step = 0; step < 3000; ++step) {
    if (random() % 3 != 0 || all.live.empty()) all.add(arena, random() % 70);
    else all.drop(arena, random() % all.live.size());
    if (step % 100 == 0) all.expect_all(arena);
    if (arena.wasted_bytes() * 2 > arena.used_bytes()) {
      compact(arena, all);
      ASSERT_EQ(arena.wasted_bytes(), 0u);
    }
  }
  all.expect_all(arena);
  while (!all.live.empty()) all.drop(arena, all.live.size() - 1);
  ASSERT_EQ(arena.used_bytes(), arena.wasted_bytes());
  arena.reset();
  ASSERT_EQ(arena.used_bytes() + arena.wasted_bytes(), 0u);
}

TEST(offset_arena, references_outlive_growth_and_compaction) {
  counting_resource<> upstream;
  small four{ashlar::resource_ref(upstream)};
  live_and_die(four);
  counted<64> aligned({.initial_bytes = 0}, upstream);
  live_and_die(aligned);
  of_store by_pages;
  live_and_die(by_pages);
  model<of_store> large;
  for (int i = 0; i < 9; ++i) large.add(by_pages, 1 << 20);
  large.expect_all(by_pages);
  by_pages.release();
  EXPECT_EQ(by_pages.held_bytes(), 0u);
}

TEST(offset_arena, the_last_block_makes_room_and_others_are_wasted) {
  ashlar::offset_arena<> arena;
  const auto first = arena.allocate(40);
  const std::size_t used = arena.used_bytes();
  const auto second = arena.allocate(10);
  arena.deallocate(second, 10);
  EXPECT_EQ(arena.used_bytes(), used);
  EXPECT_EQ(arena.wasted_bytes(), 0u);
  const auto third = arena.allocate(10);
  arena.deallocate(first, 30);  // it has shrunk since
  EXPECT_GE(arena.wasted_bytes(), 32u);
  EXPECT_LT(arena.wasted_bytes(), 40u);
  arena.deallocate(third, 10);
  EXPECT_EQ(arena.used_bytes(), used);
}

TEST(offset_arena, keeps_its_memory_over_a_reset) {
  counting_resource<> upstream;
  small arena({.initial_bytes = 100}, upstream);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) static_cast<void>(arena.allocate(100));
    const std::size_t made = upstream.allocations();
    arena.reset();
    for (int i = 0; i < 100; ++i) static_cast<void>(arena.allocate(100));
    EXPECT_EQ(upstream.allocations(), made);
    EXPECT_EQ(upstream.allocations(), upstream.deallocations() + 1);
    arena.release();
    EXPECT_EQ(upstream.allocations(), upstream.deallocations());
  }
}

TEST(offset_arena, moves_with_its_references) {
  counting_resource<> upstream;
  small from({.max_bytes = 4000}, upstream);
  const auto block = from.allocate(8);
  ashlar_test::write_pattern(from.deref(block), 8, 1);
  small to(std::move(from));
  EXPECT_TRUE(ashlar_test::has_pattern(to.deref(block), 8, 1));
  EXPECT_EQ(to.options().max_bytes, 4000u);
  EXPECT_TRUE(from.invariant() && from.used_bytes() == 0);  // NOLINT(bugprone-use-after-move): it is empty
  static_cast<void>(from.allocate(8));
  from = std::move(to);
  EXPECT_TRUE(ashlar_test::has_pattern(from.deref(block), 8, 1));
}

TEST(offset_arena, refuses_what_exceeds_its_limit_or_32_bits) {
  counting_resource<> upstream;
  small arena({.max_bytes = 1000}, upstream);
  EXPECT_EQ(arena.try_allocate(1004), small::reference::null);
  const auto most = arena.try_allocate(1000 - (ashlar_test::is_checked ? 4 : 0));
  EXPECT_NE(most, small::reference::null);
  EXPECT_EQ(arena.held_bytes(), 1000u);
  EXPECT_EQ(arena.try_allocate(0), small::reference::null);
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  counted<4> wide{ashlar::resource_ref(upstream)};
  for (const std::size_t bytes : {all, all / 2, all - 3, (std::size_t{1} << 31) / 2 * 16 * (sizeof(void*) / 8)})
    EXPECT_EQ(wide.try_allocate(bytes == 0 ? all : bytes), small::reference::null);
  EXPECT_EQ(upstream.allocations(), 1u);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(wide.allocate(all)), std::bad_alloc);
#endif
}

TEST(offset_arena, is_unchanged_where_it_cannot_grow) {
  const auto make = [](counting_resource<>& upstream) { return small({.initial_bytes = 16}, upstream); };
  ashlar_test::fail_each_allocation(make, [](small& arena) {
    model<small> all;
    const auto fill = [&] {
      for (int i = 0; i < 200; ++i) {
        const auto block = arena.try_allocate(12);
        if (block == small::reference::null) return false;
        all.live.push_back({block, 12, all.next_seed++});
        ashlar_test::write_pattern(arena.deref(block), 12, all.live.back().seed);
      }
      return true;
    };
    const bool is_full = fill();
    all.expect_all(arena);
    arena.release();
    return is_full;
  });
}

TEST(offset_arena, reports_references_to_no_live_block) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const std::string no_block = "ashlar: precondition: gave an offset_arena a reference to no live block of it";
  ashlar::offset_arena<> arena, other;
  using reference = ashlar::offset_arena<>::reference;
  const auto block = arena.allocate(40), last = arena.allocate(8);
  static_cast<void>(other.allocate(1000));
  const auto shifted = [](reference from, int by) {
    return static_cast<reference>(static_cast<std::uint32_t>(from) + static_cast<std::uint32_t>(by));
  };
  for (const reference wrong : {reference::null, shifted(block, -1), shifted(block, 1), shifted(last, 2),
                                shifted(last, 3), shifted(last, 1'000'000)})
    ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(arena.deref(wrong)), no_block);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(other.deref(last)), no_block);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(arena.reference_of(arena.deref<char>(block) + 4)), no_block);
  ASHLAR_EXPECT_LAST_WORDS(arena.deallocate(block, 60),
                           "ashlar: precondition: freed a block of an offset_arena with more bytes than it has");
  arena.deallocate(block, 40);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(arena.deref(block)), no_block);
  ASHLAR_EXPECT_LAST_WORDS(arena.deallocate(block, 40), no_block);
  arena.reset();
  static_cast<void>(arena.allocate(500));
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(arena.deref(last)), no_block);
}

}  // namespace
