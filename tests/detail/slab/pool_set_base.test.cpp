// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the base of pool sets: the requests that have a class, and the large blocks beside them.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/pool_set_base.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::pool_classes;
using ashlar_test::counting_resource;
using ground = ashlar::detail::pool_set_base<ashlar::resource_ref<counting_resource<>>, ashlar::null_lock>;

TEST(pool_set_base, knows_which_requests_are_served_from_cells) {
  counting_resource<> upstream;
  const ground small({.max_cell_bytes = 1024, .max_growth_count = 20}, upstream);
  EXPECT_EQ(small.class_with_cells(1025, 1), pool_classes::none);
  EXPECT_EQ(small.class_with_cells(1024, 1), pool_classes::of(1024));
  EXPECT_EQ(small.class_with_cells(8, 512), pool_classes::none);
  EXPECT_EQ(small.class_with_cells(200, 64), pool_classes::of(256));
  EXPECT_EQ(small.class_with_cells(0, 16), pool_classes::of(16));
  EXPECT_EQ(&small.upstream().upstream().get(), &upstream);
}

TEST(pool_set_base, large_blocks_go_one_by_one_or_all_at_once) {
  counting_resource<> upstream;
  ground base({}, upstream);
  void* const first = base.allocate_large(100'000, 64, &base);
  void* const second = base.allocate_large<ashlar::detail::or_null>(100, 4096, &base);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(base.with_large(
      [&](const ashlar::detail::large_blocks& all) { return all.find(first, &base) && all.find(second, &base); }));
  base.deallocate_large(first, 100'000, 64, &base);
  EXPECT_EQ(upstream.balance().blocks, 1u);
  EXPECT_TRUE(base.invariant());
  base.release_large(&base);
  upstream.fail_from(0);
  EXPECT_EQ(base.allocate_large<ashlar::detail::or_null>(100'000, 1, &base), nullptr);
  EXPECT_TRUE(base.invariant());
}

TEST(pool_set_base, holds_its_locks_over_a_fork) {
  using over_pages = ashlar::detail::pool_set_base<ashlar::page_resource, ashlar::spin_lock>;
  over_pages base({});
  base.before_fork();
  EXPECT_FALSE(base.upstream().lock().try_lock());
  base.after_fork();
  EXPECT_TRUE(base.invariant());
}

}  // namespace
