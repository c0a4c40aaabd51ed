// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the two engines: what they share with others, and where they are.
#include <ashlar/detail/heap/engines.hpp>

#include <gtest/gtest.h>

#include <ashlar/resource/page_resource.hpp>

namespace {

namespace detail = ashlar::detail;
using local = detail::local_engine<ashlar::page_resource>;
using owner = detail::owner_engine<ashlar::page_resource>;

static_assert(!local::sends && owner::sends == detail::frees_travel);

TEST(engines, are_found_by_their_blocks) {
  local one({});
  owner two({});
  EXPECT_EQ(&local::of(one.allocate(100)), &one);
  EXPECT_EQ(&owner::of(two.allocate(100'000)), &two);
}

}  // namespace
