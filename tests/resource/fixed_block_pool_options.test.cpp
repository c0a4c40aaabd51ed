// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of pools with a compile-time cell size: defaults, and their effect.
#include <ashlar/resource/fixed_block_pool_options.hpp>

#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/resource/fixed_block_pool.hpp>

namespace {

using ashlar::fixed_block_pool_options;

TEST(fixed_block_pool_options, have_no_limit_and_retain_one_slab) {
  constexpr fixed_block_pool_options chosen{};
  EXPECT_EQ(chosen.max_count, ashlar::detail::max_size);
  EXPECT_EQ(chosen.retain_slabs, ashlar::retain_policy(1));
  EXPECT_TRUE(std::is_aggregate_v<fixed_block_pool_options>);
}

TEST(fixed_block_pool_options, bound_a_pool) {
  ashlar::fixed_block_pool<32> pool({.max_count = 1, .retain_slabs = ashlar::release_now});
  void* const cell = pool.try_allocate(32, 8);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(pool.try_allocate(32, 8), nullptr);
  pool.deallocate(cell, 32, 8);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 0u);
}

}  // namespace
