// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pages of the heap of the process: extents in its range, other blocks outside of it.
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/ranged_pages.hpp>
#include <ashlar/os/system_calls.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::page_discard;
using ashlar::detail::system_calls;
using ashlar::detail::window_bytes;

static_assert(!ashlar::detail::range_of<ashlar::page_resource>::is_known);

template <class Calls>
void expect_extents_in_the_range() {
  if constexpr (ashlar::detail::has_ranges<Calls>) {
    using pages = ashlar::detail::ranged_pages<Calls>;
    using resource = ashlar::basic_page_resource<ashlar::fresh::plain, pages>;
    using known = page_discard<resource>;
    static_assert(ashlar::detail::range_of<resource>::is_known && known::gives_zeroes && known::is_possible);
    auto& range = ashlar::detail::range_of<resource>::range();
    resource from;
    errno = 77;
    void* const table = from.try_allocate(window_bytes, 4096);
    auto* const extent = static_cast<std::byte*>(from.try_allocate(window_bytes, window_bytes));
    ASSERT_TRUE(table != nullptr && extent != nullptr);
    EXPECT_TRUE(ashlar::detail::is_aligned(extent, window_bytes));
    EXPECT_TRUE(range.has(extent));
    EXPECT_EQ(extent[0], std::byte{0});
    std::memset(extent, 1, window_bytes);
    const bool is_longer = from.try_expand(extent, window_bytes, 2 * window_bytes, window_bytes);
    const std::size_t bytes = is_longer ? 2 * window_bytes : window_bytes;
    EXPECT_EQ(extent[bytes - 1], is_longer ? std::byte{0} : std::byte{1});
    auto* const place = static_cast<std::byte*>(known::reserve(3 * window_bytes, window_bytes));
    ASSERT_NE(place, nullptr);
    if constexpr (known::can_move) {
      ASSERT_TRUE(known::move(extent, bytes, place, 3 * window_bytes));
      EXPECT_EQ(place[window_bytes - 1], std::byte{1});
      EXPECT_EQ(place[3 * window_bytes - 1], std::byte{0});
      EXPECT_TRUE(from.try_expand(place, 3 * window_bytes, window_bytes / 2, window_bytes));
      from.deallocate(place, window_bytes / 2, window_bytes);
    } else {
      known::give_back(place, 3 * window_bytes);
      from.deallocate(extent, bytes, window_bytes);
    }
    from.deallocate(table, window_bytes, 4096);
    EXPECT_EQ(errno, 77);
    void* const again = from.try_allocate(window_bytes, window_bytes);
    EXPECT_EQ(range.owner_of(again), nullptr);
    from.deallocate(again, window_bytes, window_bytes);
  } else {
    GTEST_SKIP() << "there is no room for a range";
  }
}

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
TEST(ranged_pages, has_extents_in_the_range_alone) { expect_extents_in_the_range<system_calls>(); }

}  // namespace
