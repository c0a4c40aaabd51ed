// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the bytes held from an upstream are counted, also parts of a region and refused requests.
#include <ashlar/detail/slab/held_upstream.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar_test::counting_resource;
using counted = ashlar::detail::held_upstream<ashlar::resource_ref<counting_resource<>>>;
using pages = ashlar::detail::held_upstream<ashlar::page_resource>;

static_assert(ashlar::try_resource<counted> && !ashlar::thread_safe_resource<counted>);
static_assert(ashlar::thread_safe_resource<pages> && ashlar::detail::divisible_resource<pages>);

TEST(held_upstream, counts_the_bytes_of_live_blocks) {
  counting_resource<> upstream;
  counted held(upstream);
  void* const a = held.allocate(100, 8);
  void* const b = held.try_allocate(50, 8);
  EXPECT_EQ(held.held_bytes(), 150u);
  held.deallocate(a, 100, 8);
  EXPECT_EQ(held.held_bytes(), 50u);
  held.deallocate(b, 50, 8);
  EXPECT_EQ(held.held_bytes(), 0u);
}

TEST(held_upstream, counts_no_refused_request) {
  counting_resource<> upstream;
  counted held(upstream);
  upstream.fail_at(0);
  EXPECT_EQ(held.try_allocate(50, 8), nullptr);
  EXPECT_EQ(held.held_bytes(), 0u);
}

TEST(held_upstream, counts_a_region_that_comes_back_in_parts) {
  constexpr std::size_t part = std::size_t{64} * 1024;
  pages held;
  auto* const region = static_cast<std::byte*>(held.allocate(2 * part, part));
  held.deallocate(region + part, part, part);
  EXPECT_EQ(held.held_bytes(), part);
  held.deallocate(region, part, part);
  EXPECT_EQ(held.held_bytes(), 0u);
}

}  // namespace
