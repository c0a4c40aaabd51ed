// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of states known to fail.
#include <gtest/gtest.h>

#include <cstdint>

#include <ashlar/plan/failed_states.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(failed_states, tells_keys_of_equal_hash_apart) {
  plan::valley::failed_states s;
  s.insert(1, {1, 2});
  EXPECT_TRUE(s.contains(1, {1, 2}));
  EXPECT_FALSE(s.contains(1, {1, 3}));
  EXPECT_FALSE(s.contains(1, {1}));
}

TEST(failed_states, keeps_all_while_it_grows_and_none_beyond_its_limit) {
  plan::valley::failed_states s(6000);
  for (std::uint64_t k = 1; k <= 4000; ++k) s.insert(k % 100, {k, k});
  EXPECT_EQ(s.size(), 3000u);
  for (std::uint64_t k = 1; k <= 3000; ++k) EXPECT_TRUE(s.contains(k % 100, {k, k}));
  EXPECT_FALSE(s.contains(1, {3001, 3001}));
}

}  // namespace
