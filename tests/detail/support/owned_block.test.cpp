// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests allocation of blocks that `owns` of their resource recognises.
#include <cstddef>
#include <new>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/owned_block.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/inline_buffer.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::resource_ref;
using ashlar::detail::allocate_owned;
using ashlar::detail::try_allocate_owned;
using ashlar_test::counting_resource;
using pool = ashlar::block_pool<resource_ref<counting_resource<>>>;

TEST(owned_block, a_buffer_knows_all_that_it_hands_out) {
  ashlar::inline_buffer<128> buffer;
  void* const p = try_allocate_owned(buffer, 100, 8);
  EXPECT_TRUE(buffer.owns(p));
  EXPECT_EQ(try_allocate_owned(buffer, 100, 8), nullptr);
  EXPECT_TRUE(buffer.owns(allocate_owned(buffer, 0, 1)));
}

TEST(owned_block, a_pool_is_not_even_asked_for_what_is_larger_than_its_cells) {
  counting_resource<> below;
  pool cells({.cell_bytes = 32, .cell_alignment = 16, .slab_bytes = 4096}, below);
  EXPECT_EQ(try_allocate_owned(cells, 33, 1), nullptr);
  EXPECT_EQ(try_allocate_owned(cells, 1, 64), nullptr);
  EXPECT_EQ(below.allocations(), 0U);
  void* const cell = try_allocate_owned(cells, 32, 16);
  EXPECT_TRUE(cells.owns(cell));
  cells.deallocate(cell, 32, 16);
}

TEST(owned_block, what_a_hidden_pool_hands_on_is_given_back) {
  counting_resource<> below;
  ashlar::statistics<pool> cells(ashlar::block_pool_options{.cell_bytes = 32, .slab_bytes = 4096}, below);
  EXPECT_EQ(try_allocate_owned(cells, 33, 1), nullptr);
  EXPECT_EQ(cells.counters().allocations, 1U);
  EXPECT_EQ(cells.counters().live_blocks, 0U);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(allocate_owned(cells, 33, 1)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(allocate_owned(cells.upstream_resource(), 33, 1)), std::bad_alloc);
  below.fail_from(0);
  EXPECT_THROW(static_cast<void>(allocate_owned(cells, 32, 1)), ashlar_test::injected_failure);
#endif
  EXPECT_EQ(cells.counters().live_blocks, 0U);
  EXPECT_EQ(below.balance(), ashlar_test::nothing);
}

}  // namespace
