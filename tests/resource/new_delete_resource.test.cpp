// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the resource over operator new and operator delete.
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/conformance.hpp"

namespace {

using ashlar::new_delete_resource;

struct operator_new : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  new_delete_resource resource;
};

TEST(new_delete_resource, is_empty_and_always_equal) {
  EXPECT_TRUE(std::is_empty_v<new_delete_resource>);
  EXPECT_TRUE(std::is_nothrow_default_constructible_v<new_delete_resource>);
  EXPECT_EQ(new_delete_resource(), new_delete_resource());
}

TEST(new_delete_resource, has_no_refinement_but_try) {
  EXPECT_TRUE(ashlar::try_resource<new_delete_resource>);
  EXPECT_FALSE(ashlar::owning_resource<new_delete_resource>);
  EXPECT_FALSE(ashlar::releasable_resource<new_delete_resource>);
  EXPECT_FALSE(ashlar::self_describing_resource<new_delete_resource>);
  EXPECT_FALSE(ashlar::expanding_resource<new_delete_resource>);
}

TEST(new_delete_resource, serves_alignments_far_above_a_page) {
  new_delete_resource memory;
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 21; alignment *= 2) {
    void* const p = memory.allocate(24, alignment);
    EXPECT_TRUE(ashlar::detail::is_aligned(p, alignment));
    memory.deallocate(p, 24, alignment);
  }
}

TEST(new_delete_resource, refuses_an_alignment_that_leaves_no_room) {
  new_delete_resource memory;
  constexpr std::size_t largest = std::size_t{1} << (sizeof(std::size_t) * 8 - 1);
  EXPECT_EQ(memory.try_allocate(1, largest), nullptr);
  EXPECT_EQ(memory.try_allocate(largest / 2 + 1, largest / 2), nullptr);
}

}  // namespace

namespace ashlar_test {
const bool tested = conforms("new_delete_resource", ::testing::Types<operator_new>{});
}
