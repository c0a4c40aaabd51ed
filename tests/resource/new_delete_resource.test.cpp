// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the ends of a chain of resources: operator new, nothing, and the default.
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_store.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/death.hpp"
#include "tests/support/skills.hpp"

namespace {

using ashlar::new_delete_resource;

struct operator_new : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  new_delete_resource resource;
};

static_assert(std::is_empty_v<new_delete_resource> && std::is_nothrow_default_constructible_v<new_delete_resource>);
static_assert(ashlar_test::skills_of<new_delete_resource> == (ashlar_test::can_try | ashlar_test::can_share));

TEST(new_delete_resource, serves_alignments_far_above_a_page) {
  new_delete_resource memory;
  for (std::size_t alignment = 1; alignment <= std::size_t{1} << 21; alignment *= 2) {
    void* const p = memory.allocate(24, alignment);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment));
    memory.deallocate(p, 24, alignment);
  }
}

TEST(new_delete_resource, refuses_an_alignment_that_leaves_no_room) {
  new_delete_resource memory;
  constexpr std::size_t largest = std::size_t{1} << (sizeof(std::size_t) * 8 - 1);
  EXPECT_EQ(memory.try_allocate(1, largest), nullptr);
  EXPECT_EQ(memory.try_allocate(largest / 2 + 1, largest / 2), nullptr);
}

using ashlar::null_resource;

TEST(null_resource, refuses_every_request) {
  null_resource nothing;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, ashlar::max_size}) {
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

TEST(null_resource_death, a_free_is_misuse) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "checked from level 1 on";
  null_resource nothing;
  int local = 0;
  ASHLAR_EXPECT_DEATH(nothing.deallocate(&local, 4, 4),
                      "ashlar: invalid_free: freed to null_resource, pointer 0x*, size 4");
}

static_assert(ashlar::thread_safe_resource<ashlar::default_upstream>);
static_assert(ashlar::process_wide_resource<ashlar::default_upstream>);
static_assert(std::same_as<ashlar::arena<>, ashlar::arena<ashlar::default_upstream>>);
static_assert(std::same_as<ashlar::block_pool<>, ashlar::block_pool<ashlar::default_upstream>>);

static_assert(std::same_as<ashlar::default_upstream,
                           std::conditional_t<ashlar::has_pages, ashlar::page_store, ashlar::new_delete_resource>>);

const bool tested = ashlar_test::conforms<operator_new>("new_delete_resource");

}  // namespace
