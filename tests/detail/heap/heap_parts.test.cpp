// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the parts of heaps over an upstream, and of others in their place.
#include <ashlar/detail/heap/heap_parts.hpp>

#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

namespace detail = ashlar::detail;
using upstream = ashlar::page_resource;

struct other_stores : detail::heap_stores<upstream> {
  using heap_stores::heap_stores;
};

using local = detail::local_engine<upstream>;
using owner = detail::owner_engine<upstream>;
static_assert(!local::sends && owner::sends == detail::frees_travel);

TEST(heap_parts, make_engines_that_are_found_by_their_blocks) {
  local one({});
  owner two({});
  EXPECT_EQ(&local::of(one.allocate(100)), &one);
  EXPECT_EQ(&owner::of(two.allocate(100'000)), &two);
}

TEST(heap_parts, are_those_of_the_library_unless_specialised) {
  using parts = detail::heap_parts<upstream>;
  EXPECT_TRUE((std::is_same_v<parts::stores, detail::heap_stores<upstream>>));
  EXPECT_TRUE((std::is_same_v<parts::segment, detail::segment>));
  EXPECT_TRUE((std::is_same_v<parts::space, detail::extent_map<upstream>>));
  detail::engine<other_stores, detail::single_owner> heap({});
  EXPECT_NE(heap.allocate(10), nullptr);
}

}  // namespace
