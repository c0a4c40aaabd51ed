// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the two-headed free list against a vector.
#include <ashlar/part/free_list.hpp>

#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::free_list;

static_assert(sizeof(free_list) == 2 * sizeof(void*));

/// Cells of the fewest bytes that can be linked, at an odd address.
class cells {
public:
  [[nodiscard]] char* operator[](std::size_t i) { return memory_ + 1 + i * free_list::link_bytes; }
  static constexpr std::size_t count = 64;

private:
  char memory_[1 + count * free_list::link_bytes] = {};
};

TEST(free_list, starts_empty) {
  const free_list list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.size(), 0u);
}

TEST(free_list, gives_the_last_cell_first_whatever_its_length) {
  cells cell;
  for (std::size_t length = 0; length <= cells::count; ++length) {
    free_list list;
    for (std::size_t i = 0; i < length; ++i) list.push(cell[i]);
    EXPECT_EQ(list.size(), length);
    for (std::size_t i = length; i-- != 0;) ASSERT_EQ(list.pop(), cell[i]) << "of " << length;
    EXPECT_TRUE(list.empty());
  }
}

TEST(free_list, behaves_as_a_stack) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    cells cell;
    free_list list;
    std::vector<void*> outside;
    std::vector<void*> inside;
    for (std::size_t i = 0; i < cells::count; ++i) outside.push_back(cell[i]);
    for (int step = 0; step < 2000; ++step) {
      if (inside.empty() || (!outside.empty() && random() % 2 == 0)) {
        inside.push_back(outside.back());
        outside.pop_back();
        list.push(inside.back());
      } else {
        ASSERT_EQ(list.pop(), inside.back());
        outside.insert(outside.begin(), inside.back());
        inside.pop_back();
      }
      ASSERT_EQ(list.size(), inside.size());
      ASSERT_EQ(list.empty(), inside.empty());
    }
  }
}

// The cell handed out next is not read: what its first bytes hold does not matter to the pop after it.
TEST(free_list, writes_to_a_cell_only_when_it_is_pushed) {
  cells cell;
  free_list list;
  for (std::size_t i = 0; i < 4; ++i) list.push(cell[i]);
  EXPECT_EQ(list.pop(), cell[3]);
  for (std::size_t i = 0; i < free_list::link_bytes; ++i) cell[3][i] = 'x';
  EXPECT_EQ(list.pop(), cell[2]);
  EXPECT_EQ(list.pop(), cell[1]);
  EXPECT_EQ(list.pop(), cell[0]);
  EXPECT_EQ(cell[3][0], 'x');
}

TEST(free_list, asking_for_the_size_changes_nothing) {
  cells cell;
  free_list list;
  for (std::size_t i = 0; i < 5; ++i) list.push(cell[i]);
  EXPECT_EQ(list.size(), list.size());
  EXPECT_EQ(list.pop(), cell[4]);
}

}  // namespace
