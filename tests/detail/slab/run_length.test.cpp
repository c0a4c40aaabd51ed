// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the classes of run lengths, one length at a time.
#include <ashlar/detail/slab/run_length.hpp>

#include <cstddef>
#include <set>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::is_run_of_slab;
using ashlar::detail::longest_run;
using ashlar::detail::run_length;

TEST(run_length, every_length_of_a_class_is_of_that_class) {
  for (std::size_t n = 1; n <= longest_run; ++n)
    for (std::size_t m = n; m <= run_length(n); ++m) ASSERT_EQ(run_length(m), run_length(n)) << n << ' ' << m;
}

TEST(run_length, has_room_and_wastes_little) {
  std::set<std::size_t> classes;
  for (std::size_t n = 1; n <= longest_run; ++n) {
    ASSERT_GE(run_length(n), n);
    ASSERT_LE(run_length(n) - n, run_length(n) / 3);
    classes.insert(run_length(n));
  }
  EXPECT_EQ(classes, (std::set<std::size_t>{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}));
  EXPECT_EQ(run_length(0), 1u);
}

TEST(run_length, a_slab_has_runs_that_fit_as_a_whole) {
  EXPECT_TRUE(is_run_of_slab(17, 24));
  EXPECT_FALSE(is_run_of_slab(17, 23));  // 24 cells
  EXPECT_TRUE(is_run_of_slab(longest_run, 64));
  EXPECT_FALSE(is_run_of_slab(longest_run + 1, 1000));
}

}  // namespace
