// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of extents: their places in the address range, the map of a heap, pages that go back, and their tables; of huge
// blocks in them: spare ones, growth in place, and heaps of them beside their models while system calls fail.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/ranged_pages.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/system_calls.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/faulty_calls.hpp"
#include "tests/support/heap_model.hpp"
#include "tests/support/heap_session.hpp"

namespace {

using ashlar::address_of;
using ashlar::detail::segment_owner;
using ashlar::detail::window_bytes;

constexpr std::size_t two_megabytes = std::size_t{2} << 20;

/// A system without memory: it grants places, but where another mapping is.
struct system_of_test {
  bool grants = true;
  std::set<std::uintptr_t> others;  // addresses of other mappings
  std::uintptr_t elsewhere = static_cast<std::uintptr_t>(std::uint64_t{1} << 46);
  std::size_t released = 0;
};
system_of_test* now = nullptr;

void* somewhere(std::size_t bytes) {
  now->elsewhere -= ashlar::align_up(bytes, window_bytes);
  return reinterpret_cast<void*>(now->elsewhere);
}

struct address_pages {
  static void* map(std::size_t bytes, std::size_t) { return somewhere(bytes); }
  static void* reserve(std::size_t bytes, std::size_t) { return somewhere(bytes); }
  static bool release(void*, std::size_t bytes) { return now->released += bytes, true; }
};
struct calls {
  static void* map_near(void* place, std::size_t bytes, bool) {
    errno = 77;
    const auto next = now->others.lower_bound(address_of(place));
    const bool is_free = next == now->others.end() || *next >= address_of(place) + bytes;
    return now->grants && is_free ? place : somewhere(bytes);
  }
};

class address_range : public ::testing::Test {
protected:
  using type = ashlar::detail::address_range<address_pages, calls>;
  static_assert(sizeof(void*) < 8 || type::bytes == std::size_t{512} << 30);

  void SetUp() override {
    if constexpr (sizeof(void*) < 8) GTEST_SKIP() << "there is no room for a range";
    now = &system;
  }
  std::byte* map(std::size_t windows, std::size_t alignment = window_bytes) {
    return static_cast<std::byte*>(range->map(windows * window_bytes, alignment, true));
  }
  static segment_owner* owner(std::size_t number) { return reinterpret_cast<segment_owner*>(number * 64); }

  system_of_test system;
  std::unique_ptr<type> range = std::make_unique<type>();
};

TEST_F(address_range, puts_extents_side_by_side_at_the_lowest_places) {
  errno = 5;
  std::byte* const first = map(1);
  EXPECT_TRUE(ashlar::is_aligned(first, window_bytes));
  EXPECT_EQ(map(3), first + window_bytes);
  std::byte* const last = map(1);
  EXPECT_EQ(last, first + 4 * window_bytes);
  range->forget(first + window_bytes, 3 * window_bytes);
  EXPECT_EQ(map(2), first + window_bytes);
  EXPECT_EQ(map(2), last + window_bytes) << "the gap has one window";
  EXPECT_EQ(map(1), first + 3 * window_bytes);
  EXPECT_EQ(errno, 5);
}

TEST_F(address_range, keeps_the_alignment_of_an_extent) {
  std::byte* const first = map(1);
  std::byte* const aligned = map(2, 16 * window_bytes);
  EXPECT_TRUE(ashlar::is_aligned(aligned, 16 * window_bytes));
  EXPECT_TRUE(range->has(aligned));
  EXPECT_EQ(map(1), aligned == first + window_bytes ? aligned + 2 * window_bytes : first + window_bytes);
}

TEST_F(address_range, tells_the_owner_of_an_address) {
  const int local = 0;
  EXPECT_FALSE(range->has(&local)) << "before the first extent";
  EXPECT_EQ(range->owner_of(&local), nullptr);
  std::byte* const segment = map(1);
  EXPECT_EQ(range->owner_of(segment), nullptr) << "none is named yet";
  range->set_owner(segment, owner(1));
  for (std::byte* const p : {segment, segment + 1, segment + window_bytes - 1}) {
    EXPECT_TRUE(range->has(p));
    EXPECT_TRUE(range->is_of(owner(1), p));
    EXPECT_FALSE(range->is_of(owner(2), p));
    EXPECT_EQ(range->owner_of(p), owner(1));
  }
  for (std::byte* const p : {segment - 1, segment + window_bytes}) {
    EXPECT_FALSE(range->is_of(owner(1), p));
    EXPECT_EQ(range->owner_of(p), nullptr);
  }
  EXPECT_FALSE(range->has(&local));
  EXPECT_FALSE(range->has(nullptr));
  range->set_owner(segment, nullptr);
  EXPECT_EQ(range->owner_of(segment), nullptr);
  EXPECT_EQ(map(1), segment + window_bytes) << "a segment between two owners is not free";
  range->forget(segment, window_bytes);
  EXPECT_EQ(map(1), segment);
}

TEST_F(address_range, frees_the_windows_that_start_in_a_cut_tail) {
  std::byte* const extent = map(3);
  range->forget(extent + two_megabytes, 3 * window_bytes - two_megabytes);
  EXPECT_EQ(map(2), extent + window_bytes);
}

TEST_F(address_range, grants_growth_into_free_windows_alone) {
  std::byte* const extent = map(1);
  EXPECT_TRUE(range->try_take(extent + two_megabytes, two_megabytes)) << "the same window";
  EXPECT_TRUE(range->try_take(extent + window_bytes, 2 * window_bytes));
  std::byte* const next = map(1);
  EXPECT_EQ(next, extent + 3 * window_bytes);
  EXPECT_FALSE(range->try_take(extent + 3 * window_bytes, two_megabytes));
  EXPECT_FALSE(range->try_take(next + window_bytes, type::bytes)) << "beyond the range";
  EXPECT_TRUE(range->try_take(&system, window_bytes)) << "the range has no say elsewhere";
}

TEST_F(address_range, leaves_out_places_that_others_have_mapped) {
  std::byte* const first = map(1);
  system.others.insert(address_of(first + window_bytes) + 4096);
  EXPECT_EQ(map(1), first + 2 * window_bytes);
  EXPECT_EQ(system.released, window_bytes) << "the mapping at another address goes back";
  range->forget(first, window_bytes);
  EXPECT_EQ(map(1), first);
}

TEST_F(address_range, lies_around_the_first_extent_of_a_system_that_grants_no_place) {
  system.grants = false;
  std::byte* const first = map(1);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(system.released, window_bytes);
  std::byte* const second = map(1);
  for (std::byte* const each : {first, second}) {
    range->set_owner(each, owner(1));
    EXPECT_TRUE(range->is_of(owner(1), each + 1));
  }
  range->forget(first, window_bytes);
  EXPECT_TRUE(range->try_take(second + window_bytes, window_bytes)) << "the system decides";
}

TEST_F(address_range, leaves_extents_without_a_place_to_the_system) {
  EXPECT_NE(range->map(window_bytes, type::bytes, true), nullptr) << "before the first place";
  std::byte* const first = map(1);
  EXPECT_FALSE(range->has(map(type::windows)));
  EXPECT_EQ(map(1), first + window_bytes);
}

using ashlar_test::counting_resource;

constexpr std::size_t page = 4096;
std::byte* address(std::size_t number) { return reinterpret_cast<std::byte*>(number * window_bytes); }

TEST(recent_segments, knows_what_was_noted_and_nothing_else) {
  ashlar::detail::recent_segments segments;
  EXPECT_FALSE(segments.has(nullptr));
  for (std::uintptr_t number = 100; number < 116; ++number) segments.note(address(number) + number);
  for (std::uintptr_t number = 100; number < 116; ++number)
    EXPECT_TRUE(segments.has(address(number)) && segments.has(address(number) + window_bytes - 1));
  EXPECT_FALSE(segments.has(address(99)) || segments.has(address(116)) || segments.has(nullptr));
  segments.note(address(116));
  EXPECT_TRUE(segments.has(address(116)));
  segments.clear();
  for (std::uintptr_t number = 99; number < 117; ++number) EXPECT_FALSE(segments.has(address(number)));
}

using ashlar::detail::page_discard;

static_assert(page_discard<ashlar::page_resource>::gives_zeroes && page_discard<ashlar::page_resource>::is_possible);
static_assert(page_discard<ashlar::resource_ref<ashlar::page_resource>>::is_possible);
static_assert(!page_discard<ashlar::new_delete_resource>::gives_zeroes);
static_assert(!page_discard<ashlar::new_delete_resource>::is_possible);
static_assert(!page_discard<ashlar::new_delete_resource>::can_move);
static_assert(page_discard<ashlar::basic_page_resource<ashlar::fresh::huge>>::is_possible, "whatever the policy");

TEST(page_discard, keeps_the_pages_at_both_ends) {
  ashlar::page_resource pages;
  const std::size_t whole = ashlar::os::pages::page_bytes();
  auto* const p = static_cast<std::byte*>(pages.allocate(4 * whole, whole));
  p[whole - 1] = p[whole] = p[3 * whole - 1] = p[3 * whole] = std::byte{1};
  EXPECT_EQ(ashlar::detail::discard_pages_between<ashlar::page_resource>(p + 1, p + 4 * whole - 1), 2 * whole);
  EXPECT_TRUE(p[whole - 1] == std::byte{1} && p[3 * whole] == std::byte{1});
  EXPECT_TRUE(p[whole] == std::byte{0} && p[3 * whole - 1] == std::byte{0});
  EXPECT_EQ(ashlar::detail::discard_pages_between<ashlar::page_resource>(p + 1, p + whole + 1), 0u);
  pages.deallocate(p, 4 * whole, whole);
}

using ashlar::detail::system_calls;

static_assert(!ashlar::detail::range_of<ashlar::page_resource>::is_known);

struct immobile_calls : system_calls {
  static bool move(void*, std::size_t, void*, std::size_t) noexcept { return false; }
};

// At a limit of address space the system refuses each move: places that stayed mapped would add up to the limit.
template <class Calls>
void expect_refused_places_to_go_back() {
  if constexpr (ashlar::detail::has_ranges<Calls>) {
    using pages = ashlar::detail::ranged_pages<Calls>;
    void* const extent = pages::map(window_bytes, window_bytes);
    ASSERT_NE(extent, nullptr);
    if (!pages::range.chooses_place_of(extent)) {
      pages::release(extent, window_bytes);
      GTEST_SKIP() << "the system chooses all places";
    }
    void* const place = pages::reserve(3 * window_bytes, window_bytes);
    ASSERT_NE(place, nullptr);
    EXPECT_FALSE(pages::move(extent, window_bytes, place, 3 * window_bytes));
    EXPECT_FALSE(Calls::is_mapped(place, window_bytes));
    void* const again = pages::map(3 * window_bytes, window_bytes);
    EXPECT_EQ(again, place);
    pages::release(again, 3 * window_bytes);
    pages::release(extent, window_bytes);
  } else {
    GTEST_SKIP() << "there is no room for a range";
  }
}

TEST(ranged_pages, give_the_place_of_a_refused_move_back) { expect_refused_places_to_go_back<immobile_calls>(); }
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t keep = 16 * mib;
constexpr std::uint32_t an_hour = 3'600'000;

/// A store with its extent map.
template <class Upstream>
struct made {
  ashlar::detail::extent_map<Upstream> space;
  ashlar::detail::huge_store<Upstream> store;

  explicit made(Upstream upstream = {}, std::size_t most = ashlar::max_size, std::size_t retain_bytes = keep,
                std::uint32_t decay_ms = an_hour)
      : space(most, upstream), store(space, retain_bytes, decay_ms) {}

  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment = 16) {
    return store.take(bytes, alignment).data;
  }
  [[nodiscard]] bool invariant() const { return space.invariant() && store.invariant(); }
};

using counted = made<ashlar::resource_ref<counting_resource<>>>;

TEST(huge_store, a_freed_block_is_the_next_of_about_its_size) {
  counting_resource<> upstream;
  counted huge(upstream);
  std::byte* const p = huge.take(9 * mib);
  huge.store.give(p);
  EXPECT_TRUE(huge.space.is_spare(p) && huge.store.count() == 0 && huge.store.bytes() == 0);
  EXPECT_EQ(huge.take(8 * mib), p) << "all of which may be used";
  EXPECT_EQ(huge.store.bytes(), 9 * mib);
  EXPECT_EQ(huge.store.reused_bytes(), 9 * mib);
  huge.store.give(p);
  for (int i = 0; i < 100; ++i) huge.store.give(huge.take(9 * mib));
  EXPECT_EQ(upstream.allocations(), 1u);
  std::byte* const other = huge.take(4 * mib);
  EXPECT_NE(other, p) << "too much would be wasted";
  EXPECT_EQ(huge.store.trim(9 * mib), 0u);
  EXPECT_EQ(huge.store.trim(9 * mib - 1), 9 * mib);
  EXPECT_TRUE(huge.space.held_bytes() == 4 * mib && huge.invariant());
}

TEST(huge_store, what_was_spare_for_an_epoch_goes_back) {
  counting_resource<> upstream;
  counted huge(upstream, ashlar::max_size, keep, 0);
  std::byte* const rare = huge.take(11 * mib);
  std::byte* const often = huge.take(5 * mib);
  huge.store.give(rare);
  for (int i = 0; i < 3; ++i) {
    huge.store.give(i == 0 ? often : huge.take(5 * mib));
    EXPECT_EQ(huge.space.spare_bytes(), 5 * mib) << "each free ends an epoch";
  }
  huge.store.age();
  huge.store.age();
  EXPECT_TRUE(huge.space.spare_bytes() == 0 && huge.space.held_bytes() == 0 && huge.invariant());
}

TEST(huge_store, spare_blocks_go_back_before_one_is_refused) {
  counting_resource<> upstream;
  counted huge(upstream, 24 * mib + 4096);  // and the table of six windows
  huge.store.give(huge.take(16 * mib));
  EXPECT_NE(huge.take(24 * mib), nullptr);
  EXPECT_EQ(huge.take(1), nullptr);
  EXPECT_TRUE(huge.invariant() && upstream.peak().bytes <= 24 * mib + 4096);
}

#if defined(__linux__)
// Within a limit that the sum of the block and a copy would exceed.
TEST(huge_store, a_heap_grows_a_block_without_copying_it) {
  ashlar::local_heap<> heap({.max_bytes = 48 * mib});
  auto* const p = static_cast<std::byte*>(heap.allocate(24 * mib));
  p[0] = p[24 * mib - 1] = std::byte{1};
  auto* const q = static_cast<std::byte*>(heap.try_reallocate(p, 40 * mib));
  ASSERT_NE(q, nullptr);
  EXPECT_TRUE(q[0] == std::byte{1} && q[24 * mib - 1] == std::byte{1} && q[40 * mib - 1] == std::byte{0});
  constexpr std::size_t watched = ashlar::detail::keeps_canaries ? page : 0;  // a page for the canary behind the block
  EXPECT_EQ(heap.held_bytes(), 40 * mib + watched);
  EXPECT_TRUE(heap.try_expand(q, 40 * mib, 5 * mib, 16) && heap.usable_size(q) == 5 * mib);
  EXPECT_TRUE(heap.try_shrink(q, 5 * mib, 5 * mib, 16));
  EXPECT_FALSE(heap.try_shrink(q, 5 * mib, 6 * mib, 16));
  heap.deallocate(q, 5 * mib);
  EXPECT_TRUE(heap.owns(q) && heap.invariant());
  EXPECT_EQ(heap.trim(), 5 * mib + watched);
  EXPECT_EQ(heap.held_bytes(), 0u);
}

#endif

TEST(huge_store, keeps_every_byte_after_any_refusal_of_the_system) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    std::make_unique<ashlar_test::heap_session>(
        ashlar_test::decisions(seed), ashlar_test::walk_bounds{.most_blocks = 12, .largest = 12 * mib, .is_huge = true})
        ->run(ashlar_test::is_slow ? 2500 : 10'000);
}

}  // namespace
