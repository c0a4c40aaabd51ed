// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the page map, against a map of the standard library. No address here is ever read.
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/page_map.hpp>

namespace {

using ashlar::detail::window;
using ashlar::detail::window_bytes;

std::byte* address(std::size_t number) { return reinterpret_cast<std::byte*>(number * window_bytes); }

TEST(page_map, describes_an_extent) {
  const window third = window::of(address(5), 3, 64 * window_bytes, 16 * window_bytes, false);
  EXPECT_EQ(third.at, 8 * window_bytes);
  EXPECT_EQ(third.bytes(), 64 * window_bytes);
  EXPECT_EQ(third.alignment(), 16 * window_bytes);
  EXPECT_FALSE(third.is_segment() || third.is_first());
  const window segment = window::of(address(7), 0, 4096, window_bytes, true);
  EXPECT_TRUE(segment.is_segment() && segment.is_first());
  EXPECT_EQ(segment.bytes(), 4096u);
}

TEST(page_map, holds_nothing_at_first) {
  std::vector<window> slots(8);
  ashlar::detail::page_map map;
  EXPECT_EQ(map.find(address(1)), nullptr);
  EXPECT_FALSE(map.has_room_for(1));
  EXPECT_EQ(map.move_to(slots.data(), slots.size()), nullptr);
  EXPECT_EQ(map.find(address(1)), nullptr);
  EXPECT_EQ(map.find(nullptr), nullptr);
  EXPECT_TRUE(map.has_room_for(4));
  EXPECT_FALSE(map.has_room_for(5));
}

TEST(page_map, ends_where_the_extent_ends) {
  std::vector<window> slots(8);
  ashlar::detail::page_map map;
  map.move_to(slots.data(), slots.size());
  map.insert(window::of(address(9), 0, window_bytes / 2, window_bytes, true));
  EXPECT_NE(map.find(address(9)), nullptr);
  EXPECT_NE(map.find(address(9) + window_bytes / 2 - 1), nullptr);
  EXPECT_EQ(map.find(address(9) + window_bytes / 2), nullptr);
  EXPECT_EQ(map.find(address(9) - 1), nullptr);
}

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

}  // namespace
