// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the extent map that several heaps share: one limit, one table, a segment cache, a call before it grows.
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap_threads/shared_extent_map.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/faulty_calls.hpp"
#include "tests/support/interleaved_calls.hpp"

namespace {

using ashlar::detail::window_bytes;
using space_type = ashlar::detail::shared_extent_map<ashlar::page_resource>;
using source = ashlar::detail::extent_resource<ashlar::page_resource>;

static_assert(ashlar::thread_safe_resource<source> && ashlar::try_resource<source>);

// The largest block that is a span: one byte less if a canary follows.
constexpr std::size_t most_run =
    ashlar::detail::most_slices * ashlar::detail::slice_bytes - (ashlar::detail::keeps_canaries ? 1 : 0);

TEST(extent_resource, counts_tables_and_records_within_the_limit) {
  space_type space(window_bytes + 10'000, {});
  source from(space);
  void* const extent = from.try_allocate(window_bytes, window_bytes);
  void* const record = from.try_allocate(8'000, 64);
  EXPECT_TRUE(extent != nullptr && record != nullptr);
  EXPECT_EQ(from.try_allocate(8'000, 64), nullptr);
  EXPECT_EQ(space.table_bytes(), 8'000u);
  EXPECT_EQ(space.held_bytes(), window_bytes);
  from.deallocate(record, 8'000, 64);
  void* const other = from.try_allocate(10'000, 64);
  EXPECT_NE(other, nullptr);
  EXPECT_EQ(from.try_allocate(1, 1), nullptr);
  from.deallocate(other, 10'000, 64);
  from.deallocate(extent, window_bytes, window_bytes);
  EXPECT_EQ(space.table_bytes(), 0u);
}

// Of two empty segments the used one goes first, and its untouched slices are still zero for the next owner.
TEST(extent_resource, hands_over_the_segment_with_most_resident_pages) {
  space_type space(ashlar::max_size, {});
  ashlar::detail::owner_engine<source> parked({}, source(space));
  void* const used = parked.allocate(most_run);
  void* const fresh = parked.allocate(1'000'000);
  parked.deallocate(used);
  parked.deallocate(fresh);
  parked.flush_caches();
  const auto take_over = [&](std::size_t untouched, void* first) {
    ASSERT_TRUE(parked.try_give_segment());
    ashlar::local_heap<source> next({}, source(space));
    EXPECT_EQ(next.allocate(100'000), first);
    std::size_t bytes = 0;
    next.inspect(
        [&](const ashlar::heap_region& each) { bytes += each.kind == ashlar::region_kind::fresh ? each.bytes : 0; });
    EXPECT_EQ(bytes, untouched);
    EXPECT_TRUE(next.invariant());
  };
  take_over(0, used);
  space.trim();
  constexpr std::size_t taken = 16;  // slices, for a million bytes
  take_over((ashlar::detail::most_slices - taken) * ashlar::detail::slice_bytes, fresh);
}

// Takes a segment, fills it with ones and gives it up.
std::uintptr_t leave_a_used_segment(space_type& space) {
  ashlar::local_heap<source> heap({}, source(space));
  const ashlar::block all = heap.allocate_at_least(most_run);
  std::fill_n(static_cast<unsigned char*>(all.data), all.size, static_cast<unsigned char>(1));
  heap.deallocate(all.data);
  static_cast<void>(heap.trim());
  return ashlar::address_of(all.data) / window_bytes;
}

TEST(extent_resource, caches_two_segments_for_the_next_heap) {
  space_type space(ashlar::max_size, {});
  const std::uintptr_t segment = leave_a_used_segment(space);
  EXPECT_EQ(space.held_bytes(), window_bytes);
  EXPECT_EQ(space.budget().kept(), window_bytes);
  EXPECT_FALSE(space.has(reinterpret_cast<void*>(segment * window_bytes + 100))) << "nobody has it";
  {
    ashlar::local_heap<source> next({}, source(space));
    auto* const zeroes = static_cast<unsigned char*>(next.allocate_zeroed(3'000'000));
    EXPECT_EQ(ashlar::address_of(zeroes) / window_bytes, segment);
    EXPECT_EQ(std::count(zeroes, zeroes + 3'000'000, 0), 3'000'000) << "which it was not";
    EXPECT_TRUE(space.has(zeroes) && next.invariant() && space.invariant());
    EXPECT_EQ(space.budget().kept(), 0u);
    for (int i = 0; i < 3; ++i) EXPECT_NE(next.try_allocate(most_run), nullptr);
    EXPECT_EQ(space.held_bytes(), 4 * window_bytes);
  }
  EXPECT_EQ(space.held_bytes(), 2 * ashlar::detail::segment_bytes);
  EXPECT_EQ(space.trim(), 2 * ashlar::detail::segment_bytes);
  EXPECT_EQ(space.held_bytes() + space.budget().kept(), 0u);
}

TEST(extent_resource, gives_its_cache_back_before_it_refuses) {
  space_type space(2 * window_bytes, {});
  static_cast<void>(leave_a_used_segment(space));
  ashlar::local_heap<source> heap({}, source(space));
  void* const huge = heap.try_allocate(7'000'000);
  EXPECT_NE(huge, nullptr);
  EXPECT_EQ(space.budget().kept(), 0u);
  space_type frugal(ashlar::max_size, {}, 0);
  static_cast<void>(leave_a_used_segment(frugal));
  EXPECT_EQ(frugal.held_bytes(), 0u) << "may keep nothing";
}

// Nothing is read through the address, so it may be any. A cached segment has a head, but no owner.
TEST(extent_resource, names_the_owner_of_a_segment) {
  space_type space(ashlar::max_size, {});
  int other = 0;
  {
    ashlar::local_heap<source> one({}, source(space)), two({}, source(space));
    void* const p = one.allocate(100);
    void* const q = two.allocate(50'000);
    EXPECT_TRUE(space.owner_of(p) != nullptr && space.owner_of(p) == ashlar::detail::segment::heap_of(p));
    EXPECT_TRUE(space.owner_of(q) == ashlar::detail::segment::heap_of(q) && space.owner_of(q) != space.owner_of(p));
    auto* const huge = static_cast<std::byte*>(one.allocate(9'000'000));
    std::fill_n(huge, 100, std::byte{1});
    EXPECT_TRUE(space.has(huge + 100) && space.owner_of(huge + 100) == nullptr);
    EXPECT_EQ(space.owner_of(&other), nullptr);
  }
  void* const cached = reinterpret_cast<void*>(leave_a_used_segment(space) * window_bytes + 100);
  EXPECT_EQ(space.owner_of(cached), nullptr);
  static_cast<void>(space.trim());
  EXPECT_EQ(space.owner_of(cached), nullptr);
}

struct moving;
using calls = ashlar_test::faulty_calls<moving>;
using moving_pages = ashlar_test::faulty_pages<moving>;
using moving_space = ashlar::detail::shared_extent_map<moving_pages>;
using moving_source = ashlar::detail::extent_resource<moving_pages>;

TEST(extent_resource, moves_and_cuts_huge_blocks_in_both_books) {
  if (!ashlar::detail::page_discard<moving_source>::can_move) GTEST_SKIP();
  for (std::size_t k = 0; k < 12; ++k) {
    {
      moving_space space(40 * window_bytes, {});
      ashlar::detail::extent_map<moving_source> part(ashlar::max_size, moving_source(space));
      std::byte* p = part.take(window_bytes + 4096, window_bytes, false);
      p[0] = p[window_bytes] = std::byte{7};
      calls::faults.maps.fail_at(k);
      calls::faults.unmaps.fail_at(k);
      calls::faults.moves.fail_at(k);
      for (const std::size_t wanted : {2u, 5u, 12u}) {
        std::byte* const moved = part.move(p, wanted * window_bytes, 2 * window_bytes);
        p = moved != nullptr ? moved : p;
        ASSERT_TRUE(p[0] == std::byte{7} && p[window_bytes] == std::byte{7});
        const std::size_t held = part.find(p)->bytes();
        ASSERT_TRUE(space.has(p + held - 1) && space.held_bytes() == held && part.held_bytes() == held);
        ASSERT_TRUE(space.invariant() && part.invariant());
      }
      EXPECT_EQ(part.move(p, 41 * window_bytes, window_bytes), nullptr) << "the limit refuses";
      const std::size_t held = part.find(p)->bytes();
      part.keep(p);
      std::byte* const small = part.take_spare(4096, window_bytes);
      EXPECT_TRUE(small == p || k < 12);
      if (small != nullptr) part.give(small);
      EXPECT_TRUE(part.held_bytes() < held && space.held_bytes() == part.held_bytes()) << k;
      EXPECT_TRUE(space.invariant() && part.invariant());
      calls::faults.fail_never();
    }
    calls::faults.give_back_lost();
    EXPECT_EQ(calls::faults.mapped_bytes, 0u);
  }
}

#if defined(__linux__)
// A system with little memory; what is released is there again at the end of the call.
struct small_system : ashlar_test::interleaved_calls<small_system> {
  static constexpr std::size_t most = 4 * window_bytes;
  static inline std::atomic<std::size_t> mapped = 0, refusals = 0;

  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return within_limit(bytes, [&] { return interleaved_calls::map(bytes, accessible); });
  }
  [[nodiscard]] static void* map_near(void* place, std::size_t bytes, bool accessible) noexcept {
    return within_limit(bytes, [&] { return interleaved_calls::map_near(place, bytes, accessible); });
  }
  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept {
    const bool is_gone = interleaved_calls::unmap(p, bytes);
    mapped -= bytes;
    return is_gone;
  }

private:
  template <class Map>
  [[nodiscard]] static void* within_limit(std::size_t bytes, Map map_it) noexcept {
    if (mapped + bytes > most) return ++refusals, nullptr;
    mapped += bytes;
    return map_it();
  }
};

TEST(extent_resource, refuses_nothing_that_is_on_its_way_back) {
  using pages = ashlar::basic_page_resource<ashlar::fresh::plain, ashlar::os::basic_pages<small_system>>;
  ashlar::detail::shared_extent_map<pages> space(ashlar::max_size, {});
  void* const p = space.try_allocate(3 * window_bytes, window_bytes);
  ASSERT_NE(p, nullptr);
  std::thread other;
  small_system::others.begin([&] {
    other = std::thread([&] {
      void* const q = space.try_allocate(2 * window_bytes, window_bytes);
      EXPECT_NE(q, nullptr);
      space.deallocate(q, 2 * window_bytes, window_bytes);
    });
    while (small_system::refusals == 0) std::this_thread::yield();
  });
  space.deallocate(p, 3 * window_bytes, window_bytes);
  small_system::others.end();
  other.join();
  EXPECT_EQ(small_system::mapped, 0u);
}
#endif

}  // namespace
