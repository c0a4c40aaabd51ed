// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the bins of runs: the shortest fit, last in first out, and the removal of all.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/free_run_bins.hpp>
#include <ashlar/detail/heap/span_header.hpp>

namespace {

using ashlar::detail::span_header;
using free_run_bins = ashlar::detail::free_run_bins<span_header>;

// A run may come and go every 20 ns, which is 2^32 times in two minutes.
static_assert(sizeof(free_run_bins().taken_slices()) == sizeof(std::uint64_t));

struct free_run_bins_test : ::testing::Test {
  span_header& put(std::size_t i, std::size_t length) {
    runs[i].length = static_cast<std::uint8_t>(length);
    bins.put(runs[i]);
    return runs[i];
  }

  std::vector<span_header> runs = std::vector<span_header>(64);
  free_run_bins bins;
};

TEST_F(free_run_bins_test, gives_the_shortest_that_fits_and_of_these_the_last) {
  EXPECT_EQ(bins.take(1, 62), nullptr);
  span_header &five = put(0, 5), &seven = put(1, 7), &again = put(2, 5), &longest = put(3, 63);
  EXPECT_EQ(bins.slices(), 80u);
  EXPECT_TRUE(bins.invariant() && five.is_available);
  EXPECT_EQ(bins.take(4, 0), nullptr);
  EXPECT_EQ(bins.take(4, 1), &again);
  EXPECT_FALSE(again.is_available);
  EXPECT_EQ(bins.take(5, 2), &five);
  EXPECT_EQ(bins.take(5, 1), nullptr);
  EXPECT_EQ(bins.take(5, 2), &seven);
  EXPECT_EQ(bins.take(63, 0), &longest);
  EXPECT_TRUE(bins.slices() == 0 && bins.invariant());
}

TEST_F(free_run_bins_test, takes_all_down_at_once) {
  for (std::size_t i = 0; i < 40; ++i) put(i, 1 + i % 7);
  std::size_t slices = 0;
  bins.clear([&](span_header& run) { slices += run.length; });
  EXPECT_EQ(slices, 155u);
  EXPECT_TRUE(bins.slices() == 0 && bins.invariant());
  EXPECT_EQ(bins.take(1, 62), nullptr);
}

TEST_F(free_run_bins_test, visits_each_and_forgets_all) {
  for (std::size_t i = 0; i < 40; ++i) put(i, 1 + i % 7);
  EXPECT_NE(bins.take(7, 0), nullptr);
  EXPECT_EQ(bins.taken_slices(), 7u);
  std::size_t slices = 0;
  bins.for_each([&](const span_header& run) { slices += run.length; });
  EXPECT_EQ(slices, 148u);
  bins.forget();
  EXPECT_TRUE(bins.slices() == 0 && bins.taken_slices() == 7 && bins.invariant());
  EXPECT_EQ(bins.take(1, 62), nullptr);
}

}  // namespace
