// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the number of empty slabs that each policy retains.
#include <ashlar/base/options.hpp>

#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>

namespace {

using ashlar::retain_policy;
using ashlar::detail::max_size;

TEST(retain_policy, a_number_is_that_many_and_an_eighth_of_those_in_use) {
  for (const std::size_t least : {0u, 1u, 7u, 1000u})
    for (const std::size_t in_use : {0u, 1u, 7u, 8u, 9u, 800u})
      EXPECT_EQ(retain_policy(least).retained(in_use), least + in_use / 8);
  EXPECT_TRUE((std::is_convertible_v<std::size_t, retain_policy>));
}

TEST(retain_policy, release_now_keeps_none_and_never_release_all) {
  for (const std::size_t in_use : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, max_size}) {
    EXPECT_EQ(ashlar::release_now.retained(in_use), 0u);
    EXPECT_EQ(ashlar::never_release.retained(in_use), max_size);
  }
}

TEST(retain_policy, a_number_keeps_what_was_missed_too_and_release_now_does_not) {
  EXPECT_EQ(retain_policy(1).retained(16, 3), 1u + 2 + 3);
  EXPECT_EQ(ashlar::release_now.retained(16, 3), 0u);
  EXPECT_EQ(ashlar::never_release.retained(16, 3), max_size);
  EXPECT_EQ(retain_policy::max_learned(std::size_t{256} << 10), 4u);
  EXPECT_EQ(retain_policy::max_learned(std::size_t{2} << 20), 0u) << "so much is not kept on suspicion";
}

TEST(retain_policy, sums_stay_in_range) {
  EXPECT_EQ(retain_policy(max_size).retained(max_size), max_size);
  EXPECT_EQ(retain_policy(max_size - 1).retained(8), max_size);
  EXPECT_EQ(retain_policy(max_size - 1).retained(7), max_size - 1);
}

TEST(retain_policy, equal_where_they_keep_the_same) {
  EXPECT_EQ(retain_policy(3), retain_policy(3));
  EXPECT_NE(retain_policy(0), ashlar::release_now);
  EXPECT_NE(retain_policy(max_size), ashlar::never_release);
}

}  // namespace
