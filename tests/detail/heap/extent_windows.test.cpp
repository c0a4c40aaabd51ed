// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the windows of extents: in place, in tables, and room that is promised. The addresses are never read.
#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/extent_windows.hpp>
#include <ashlar/detail/heap/page_map.hpp>

namespace {

using ashlar::detail::window;
using ashlar::detail::window_bytes;

class windows : public ashlar::detail::extent_windows {
public:
  using extent_windows::forget;
  using extent_windows::forget_all;
  using extent_windows::has_room_for;
  using extent_windows::promise;
  using extent_windows::remember;
  using extent_windows::replace_table;
  using extent_windows::wider_table_bytes;

  windows() { begin(first_.data()); }

private:
  std::array<window, first_count> first_ = {};
};

std::byte* place(std::size_t number) { return reinterpret_cast<std::byte*>(number * window_bytes); }

TEST(extent_windows, find_an_extent_by_each_of_its_windows) {
  windows all;
  all.remember(place(10), 2 * window_bytes + 4096, window_bytes, false);
  for (const std::size_t number : {10u, 11u, 12u}) EXPECT_EQ(all.find(place(number))->start, place(10));
  EXPECT_EQ(all.find(place(12) + 4096), nullptr);
  const window was = *all.find(place(10));
  all.forget(was);
  EXPECT_TRUE(all.find(place(10)) == nullptr && all.held_bytes() == 0);
  all.remember(was, place(20), window_bytes, window_bytes);
  EXPECT_TRUE(all.find(place(20)) != nullptr && all.held_bytes() == window_bytes && all.invariant());
}

TEST(extent_windows, keep_promised_room_for_others) {
  windows all;
  EXPECT_TRUE(all.has_room_for(4) && all.wider_table_bytes(4) == 0);
  all.promise(2);
  EXPECT_TRUE(all.has_room_for(2) && !all.has_room_for(3));
  EXPECT_EQ(all.wider_table_bytes(3), 16 * sizeof(window));
  all.promise(0 - std::size_t{2});
  EXPECT_TRUE(all.has_room_for(4));
}

TEST(extent_windows, use_the_wider_of_two_tables) {
  std::array<window, 16> one, other;
  windows all;
  all.remember(place(10), 3 * window_bytes, window_bytes, false);
  EXPECT_EQ(all.replace_table({one.data(), sizeof one}).bytes, 0u) << "the first windows were inside";
  EXPECT_EQ(all.table_bytes(), sizeof one);
  EXPECT_EQ(all.replace_table({other.data(), sizeof other}).entries, other.data()) << "no wider than the present one";
  EXPECT_TRUE(all.find(place(12)) != nullptr && all.invariant());
  EXPECT_EQ(all.forget_all().entries, one.data());
  EXPECT_TRUE(all.table_bytes() == 0 && all.held_bytes() == 0 && all.find(place(12)) == nullptr);
}

}  // namespace
