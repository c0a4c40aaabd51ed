// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of freed cells that wait: a limit for each class, and each cell once in its group.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/freed_cells.hpp>

namespace {

using freed_cells = ashlar::detail::freed_cells<4>;

// Removes all.
std::size_t count_taken_from(freed_cells& freed) {
  std::size_t count = 0;
  const auto take = [&](void*) { return ++count != 0; };
  for (std::size_t size_class = 0; size_class < 5; ++size_class) freed.take_groups(size_class, take, take, [] {});
  return count;
}

TEST(freed_cells_test, has_a_limit_for_each_class) {
  freed_cells freed;
  char cells[freed_cells::most + 1];
  for (std::size_t i = 0; i < freed_cells::most; ++i) EXPECT_TRUE(freed.try_add(3, &cells[i]));
  EXPECT_FALSE(freed.try_add(3, &cells[freed_cells::most]));
  EXPECT_FALSE(freed.try_add(4, &cells[0])) << "no such class";
  EXPECT_TRUE(freed.try_add(1, &cells[0]));
  EXPECT_EQ(count_taken_from(freed), freed_cells::most + 1);
  EXPECT_TRUE(freed.try_add(3, &cells[0]));
  freed.clear();
  EXPECT_EQ(count_taken_from(freed), 0u);
}

// More groups than passes over the list.
TEST(freed_cells_test, leaves_in_groups) {
  constexpr std::size_t groups = 6;
  freed_cells freed;
  char cells[freed_cells::most];
  for (char& each : cells) EXPECT_TRUE(freed.try_add(2, &each));
  const auto place = [&](void* cell) { return static_cast<std::size_t>(static_cast<char*>(cell) - cells); };
  std::vector<std::size_t> group, all;
  std::size_t ended = 0;
  freed.take_groups(
      2, [&](void* cell) { group = {place(cell)}; },
      [&](void* cell) {
        const bool is_same = place(cell) % groups == group[0] % groups;
        if (is_same) group.push_back(place(cell));
        return is_same;
      },
      [&] { all.insert(all.end(), group.begin(), group.end()), ++ended; });
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), freed_cells::most);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  EXPECT_LT(ended, 16u);
  EXPECT_EQ(count_taken_from(freed), 0u);
}

TEST(freed_cells_test, none_wait_where_cells_have_free_lists) {
  char cell = 0;
  EXPECT_FALSE(ashlar::detail::no_freed_cells::try_add(1, &cell));
}

}  // namespace
