// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the arena with its first bytes inside the object.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/inline_arena.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::inline_arena;
using ashlar_test::counting_resource;
using counted = inline_arena<256, ashlar::resource_ref<counting_resource<>>>;

struct spills : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  static constexpr std::size_t churn_steps = 200;
  counting_resource<> upstream;
  counted resource{{.initial_bytes = 1000}, upstream};
};

TEST(inline_arena, uses_its_own_bytes_first_and_again_after_each_reset) {
  counting_resource<> upstream;
  counted a{upstream};
  for (int i = 0; i < 3; ++i, a.reset()) EXPECT_EQ(a.allocate(256, alignof(std::max_align_t)), static_cast<void*>(&a));
  EXPECT_EQ(upstream.allocations(), 0u);
  static_cast<void>(a.allocate(257, 1));
  EXPECT_EQ(upstream.allocations(), 1u);
  a.release();
  EXPECT_EQ(a.allocate(1, 1), static_cast<void*>(&a));
}

TEST(inline_arena, with_no_upstream_is_bounded) {
  inline_arena<100, ashlar::null_resource> a;
  EXPECT_EQ(a.capacity(), 100u);
  EXPECT_NE(a.try_allocate(100, 1), nullptr);
  EXPECT_EQ(a.try_allocate(1, 1), nullptr);
  a.reset();
  EXPECT_NE(a.try_allocate(100, 1), nullptr);
  EXPECT_TRUE(a.invariant());
}

}  // namespace

namespace ashlar_test {
const bool tested = conforms("inline_arena", ::testing::Types<spills>{});
}
