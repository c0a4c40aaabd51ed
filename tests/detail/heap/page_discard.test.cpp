// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the properties of an upstream's pages.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::page_discard;

static_assert(page_discard<ashlar::page_resource>::gives_zeroes && page_discard<ashlar::page_resource>::is_possible);
static_assert(page_discard<ashlar::resource_ref<ashlar::page_resource>>::is_possible);
static_assert(!page_discard<ashlar::new_delete_resource>::gives_zeroes);
static_assert(!page_discard<ashlar::new_delete_resource>::is_possible);
static_assert(!page_discard<ashlar::new_delete_resource>::can_move);
static_assert(page_discard<ashlar::basic_page_resource<ashlar::fresh::huge>>::is_possible, "whatever the policy");

TEST(page_discard, makes_pages_zero_again) {
  ashlar::page_resource pages;
  constexpr std::size_t bytes = 256 * 1024;
  auto* const p = static_cast<std::byte*>(pages.allocate(bytes, 4096));
  EXPECT_EQ(p[0], std::byte{0});
  p[0] = p[bytes - 1] = std::byte{1};
  errno = 77;
  EXPECT_TRUE(page_discard<ashlar::page_resource>::discard(p, bytes));
  EXPECT_EQ(p[0], std::byte{0});
  EXPECT_EQ(p[bytes - 1], std::byte{0});
  EXPECT_FALSE(page_discard<ashlar::page_resource>::discard(p + 1, bytes)) << "is no page";
  EXPECT_EQ(errno, 77);
  pages.deallocate(p, bytes, 4096);
}

TEST(page_discard, keeps_the_pages_at_both_ends) {
  ashlar::page_resource pages;
  const std::size_t page = ashlar::os::pages::page_bytes();
  auto* const p = static_cast<std::byte*>(pages.allocate(4 * page, page));
  p[page - 1] = p[page] = p[3 * page - 1] = p[3 * page] = std::byte{1};
  EXPECT_EQ(ashlar::detail::discard_pages_between<ashlar::page_resource>(p + 1, p + 4 * page - 1), 2 * page);
  EXPECT_TRUE(p[page - 1] == std::byte{1} && p[3 * page] == std::byte{1});
  EXPECT_TRUE(p[page] == std::byte{0} && p[3 * page - 1] == std::byte{0});
  EXPECT_EQ(ashlar::detail::discard_pages_between<ashlar::page_resource>(p + 1, p + page + 1), 0u);
  pages.deallocate(p, 4 * page, page);
}

template <class Known>
bool moves_or_gives_back(void* p, std::size_t bytes, void* place, std::size_t new_bytes) {
  if constexpr (Known::can_move) return Known::move(p, bytes, place, new_bytes);
  Known::give_back(place, new_bytes);
  return false;
}

TEST(page_discard, moves_pages_to_a_place_or_leaves_both) {
  using known = page_discard<ashlar::page_resource>;
  ashlar::page_resource pages;
  constexpr std::size_t bytes = 256 * 1024;
  auto* const p = static_cast<std::byte*>(pages.allocate(bytes, 4096));
  p[bytes - 1] = std::byte{1};
  known::give_back(known::reserve(2 * bytes, bytes), 2 * bytes);
  auto* const place = static_cast<std::byte*>(known::reserve(2 * bytes, bytes));
  const bool moved = moves_or_gives_back<known>(p, bytes, place, 2 * bytes);
  const std::byte* const now = moved ? place : p;
  EXPECT_EQ(now[bytes - 1], std::byte{1});
  if (moved) {
    EXPECT_EQ(place[2 * bytes - 1], std::byte{0});
  }
  pages.deallocate(moved ? place : p, moved ? 2 * bytes : bytes, 4096);
}

TEST(page_discard, nothing_is_dropped_of_what_is_unknown) {
  int value = 7;
  EXPECT_FALSE(page_discard<ashlar::new_delete_resource>::discard(&value, sizeof value));
  EXPECT_EQ(value, 7);
}

// A buffer takes only its last block back.
TEST(page_discard, a_heap_loses_nothing_of_a_region_that_it_is_given) {
  constexpr std::size_t bytes = std::size_t{24} << 20;
  ashlar::page_resource memory;
  void* const region = memory.allocate(bytes, ashlar::detail::segment_bytes);
  {
    ashlar::buffer_resource buffer({static_cast<std::byte*>(region), bytes});
    ashlar::local_heap<ashlar::resource_ref<ashlar::buffer_resource>> heap({.retain_bytes = 0},
                                                                           ashlar::resource_ref(buffer));
    std::size_t first = 0;
    for (int round = 0; round < 3; ++round) {
      std::vector<void*> held;
      while (void* const p = heap.try_allocate(1'000'000)) held.push_back(p);
      if (round == 0) first = held.size();
      ASSERT_EQ(held.size(), first);
      std::rotate(held.begin(), held.end() - 2, held.end());  // the youngest segment goes last
      for (; !held.empty(); held.pop_back()) heap.deallocate(held.back());
      for (int i = 0; i < 200; ++i) heap.deallocate(heap.allocate(100'000));
      heap.trim();
    }
    EXPECT_GT(first, 9u);
  }
  memory.deallocate(region, bytes, ashlar::detail::segment_bytes);
}

}  // namespace
