// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the shelf of runs: the shortest that fits, last in first out, and what is all taken down.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/run_shelf.hpp>

namespace {

using ashlar::detail::run_record;
using ashlar::detail::run_shelf;

// A run can come and go every 20 ns, and 2^32 times in two minutes.
static_assert(sizeof(run_shelf().taken_slices()) == sizeof(std::uint64_t));

struct run_shelf_test : ::testing::Test {
  run_record& put(std::size_t i, std::size_t length) {
    runs[i].length = static_cast<std::uint8_t>(length);
    shelf.put(runs[i]);
    return runs[i];
  }

  std::vector<run_record> runs = std::vector<run_record>(64);
  run_shelf shelf;
};

TEST_F(run_shelf_test, gives_the_shortest_that_fits_and_of_these_the_last) {
  EXPECT_EQ(shelf.take(1, 62), nullptr);
  run_record &five = put(0, 5), &seven = put(1, 7), &again = put(2, 5), &longest = put(3, 63);
  EXPECT_EQ(shelf.slices(), 80u);
  EXPECT_TRUE(shelf.invariant() && five.is_shelved);
  EXPECT_EQ(shelf.take(4, 0), nullptr);
  EXPECT_EQ(shelf.take(4, 1), &again);
  EXPECT_FALSE(again.is_shelved);
  EXPECT_EQ(shelf.take(5, 2), &five);
  EXPECT_EQ(shelf.take(5, 1), nullptr);
  EXPECT_EQ(shelf.take(5, 2), &seven);
  EXPECT_EQ(shelf.take(63, 0), &longest);
  EXPECT_TRUE(shelf.slices() == 0 && shelf.invariant());
}

TEST_F(run_shelf_test, takes_all_down_at_once) {
  for (std::size_t i = 0; i < 40; ++i) put(i, 1 + i % 7);
  std::size_t slices = 0;
  shelf.clear([&](run_record& run) { slices += run.length; });
  EXPECT_EQ(slices, 155u);
  EXPECT_TRUE(shelf.slices() == 0 && shelf.invariant());
  EXPECT_EQ(shelf.take(1, 62), nullptr);
}

}  // namespace
