// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource that never has memory.
#include <cstddef>
#include <new>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::null_resource;

TEST(null_resource, refuses_every_request) {
  null_resource nothing;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, ashlar::detail::max_size}) {
    EXPECT_EQ(nothing.try_allocate(bytes, 8), nullptr);
#if defined(__cpp_exceptions)
    EXPECT_THROW(static_cast<void>(nothing.allocate(bytes, 8)), std::bad_alloc);
#endif
  }
}

TEST(null_resource, owns_nothing_and_equals_itself) {
  const null_resource nothing;
  EXPECT_FALSE(nothing.owns(nullptr));
  EXPECT_FALSE(nothing.owns(&nothing));
  EXPECT_EQ(nothing, null_resource());
  EXPECT_TRUE(std::is_empty_v<null_resource>);
}

TEST(null_resource, ends_a_chain_that_must_not_spill) {
  ashlar::block_pool<null_resource> cells({.cell_bytes = 8});
  EXPECT_EQ(cells.try_allocate(), nullptr);
  EXPECT_EQ(cells.try_allocate(100, 8), nullptr);
  EXPECT_EQ(cells.capacity(), 0u);
  EXPECT_TRUE(cells.invariant());
}

TEST(null_resource_death, a_free_is_misuse) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "checked from level 1 on";
  null_resource nothing;
  int local = 0;
  ASHLAR_EXPECT_DEATH(nothing.deallocate(&local, 4, 4),
                      "ashlar: invalid_free: freed to null_resource, pointer 0x*, size 4");
}

}  // namespace
