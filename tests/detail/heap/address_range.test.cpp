// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the address range of the heap of the process: places for extents, and the owners of their windows.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/ranged_pages.hpp>

namespace {

using ashlar::detail::address_of;
using ashlar::detail::segment_owner;
using ashlar::detail::window_bytes;

constexpr std::size_t two_megabytes = std::size_t{2} << 20;

/// A system without memory: it grants places, but where another mapping is.
struct system_of_test {
  bool grants = true, has_memory = true;
  std::set<std::uintptr_t> others;  // addresses of other mappings
  std::uintptr_t elsewhere = static_cast<std::uintptr_t>(std::uint64_t{1} << 46);
  std::size_t released = 0;
};
system_of_test* now = nullptr;

void* somewhere(std::size_t bytes) {
  if (!now->has_memory) return nullptr;
  now->elsewhere -= ashlar::detail::align_up(bytes, window_bytes);
  return reinterpret_cast<void*>(now->elsewhere);
}
struct pages {
  static void* map(std::size_t bytes, std::size_t) { return somewhere(bytes); }
  static void* reserve(std::size_t bytes, std::size_t) { return somewhere(bytes); }
  static bool release(void*, std::size_t bytes) { return now->released += bytes, true; }
};
struct calls {
  static void* map_near(void* place, std::size_t bytes, bool) {
    errno = 77;
    if (!now->has_memory) return nullptr;
    const auto next = now->others.lower_bound(address_of(place));
    const bool is_free = next == now->others.end() || *next >= address_of(place) + bytes;
    return now->grants && is_free ? place : somewhere(bytes);
  }
};

class address_range : public ::testing::Test {
protected:
  using type = ashlar::detail::address_range<pages, calls>;
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
  EXPECT_TRUE(ashlar::detail::is_aligned(first, window_bytes));
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
  EXPECT_TRUE(ashlar::detail::is_aligned(aligned, 16 * window_bytes));
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

TEST_F(address_range, maps_elsewhere_when_each_place_is_refused) {
  std::byte* const first = map(1);
  system.grants = false;
  std::byte* const other = map(1);
  EXPECT_FALSE(range->has(other));
  range->set_owner(other, owner(1));
  EXPECT_FALSE(range->is_of(owner(1), other)) << "outside, an owner is not known";
  range->forget(other, window_bytes);
  EXPECT_TRUE(range->has(first));
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

TEST_F(address_range, returns_null_without_memory_and_takes_no_place) {
  system.has_memory = false;
  EXPECT_EQ(map(1), nullptr);
  system.has_memory = true;
  std::byte* const first = map(1);
  system.has_memory = false;
  EXPECT_EQ(map(1), nullptr);
  system.has_memory = true;
  EXPECT_EQ(map(1), first + window_bytes);
}

TEST_F(address_range, leaves_extents_without_a_place_to_the_system) {
  EXPECT_NE(range->map(window_bytes, type::bytes, true), nullptr) << "before the first place";
  std::byte* const first = map(1);
  EXPECT_FALSE(range->has(map(type::windows)));
  EXPECT_EQ(map(1), first + window_bytes);
}

}  // namespace
