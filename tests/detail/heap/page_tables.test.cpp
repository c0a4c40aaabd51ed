// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the map from pages to extents, and of pages that are given back.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::window;
using ashlar::detail::window_bytes;

std::byte* address(std::size_t number) { return reinterpret_cast<std::byte*>(number * window_bytes); }

// Few window numbers over a small table: chains that wrap, and holes in the middle of chains.
TEST(page_map, finds_what_it_holds_and_nothing_else) {
  for (const std::size_t numbers : {std::size_t{60}, std::size_t{300}}) {
    std::vector<std::vector<window>> arrays = {std::vector<window>(8)};
    ashlar::detail::page_map map;
    map.move_to(arrays.back().data(), arrays.back().size());
    std::map<std::size_t, bool> model;
    std::mt19937 random(7);
    for (int step = 0; step < 5000; ++step) {
      const std::size_t number = 1 + random() % numbers;
      if (model.erase(number) != 0) {
        map.erase(number * window_bytes);
      } else {
        if (!map.has_room_for(1)) {
          arrays.emplace_back(map.capacity() * 2);
          EXPECT_EQ(map.move_to(arrays.back().data(), arrays.back().size()), arrays[arrays.size() - 2].data());
        }
        map.insert(window::of(address(number), 0, window_bytes, window_bytes, random() % 2 == 0));
        model[number] = true;
      }
      ASSERT_EQ(map.count(), model.size());
      if (step % 50 != 0) continue;
      ASSERT_TRUE(map.invariant());
      for (std::size_t each = 1; each <= numbers; ++each)
        ASSERT_EQ(map.find(address(each) + 17) != nullptr, model.contains(each)) << each;
    }
  }
}

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

}  // namespace
