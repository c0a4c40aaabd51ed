// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the options of a set have no limit by default, and that a set obeys them.
#include <ashlar/base/options.hpp>

#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/pool_set.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::pool_set_options;
using upstream_ref = ashlar::resource_ref<ashlar_test::counting_resource<>>;

TEST(pool_set_options, have_no_limit_and_retain_one_slab) {
  constexpr pool_set_options chosen{};
  EXPECT_EQ(chosen.max_cell_bytes, 0u);
  EXPECT_EQ(chosen.max_growth_count, ashlar::detail::max_size);
  EXPECT_EQ(chosen.retain_slabs, ashlar::retain_policy(1));
  EXPECT_TRUE(std::is_aggregate_v<pool_set_options>);
}

TEST(pool_set_options, blocks_above_the_largest_cell_come_from_the_upstream_one_by_one) {
  ashlar_test::counting_resource<> upstream;
  ashlar::pool_set<upstream_ref> pools({.max_cell_bytes = 64}, upstream);
  void* const first = pools.allocate(65, 8);
  void* const second = pools.allocate(65, 8);
  EXPECT_EQ(upstream.balance().blocks, 2u);
  EXPECT_LT(upstream.balance().bytes, ashlar::detail::largest_page);
  pools.deallocate(first, 65, 8);
  pools.deallocate(second, 65, 8);
  EXPECT_EQ(upstream.balance().blocks, 0u);
}

}  // namespace
