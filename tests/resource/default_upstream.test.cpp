// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests which upstream a resource has by default on this system.
#include <ashlar/resource/page_resource.hpp>

#include <concepts>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace {

static_assert(ashlar::thread_safe_resource<ashlar::default_upstream>);
static_assert(ashlar::process_wide_resource<ashlar::default_upstream>);
static_assert(std::same_as<ashlar::arena<>, ashlar::arena<ashlar::default_upstream>>);
static_assert(std::same_as<ashlar::block_pool<>, ashlar::block_pool<ashlar::default_upstream>>);

TEST(default_upstream, is_pages_where_there_are) {
  if constexpr (ashlar::has_pages) {
    EXPECT_TRUE((std::same_as<ashlar::default_upstream, ashlar::page_resource>));
  } else {
    EXPECT_TRUE((std::same_as<ashlar::default_upstream, ashlar::new_delete_resource>));
  }
}

TEST(default_upstream, hands_out_blocks) {
  ashlar::default_upstream from;
  void* const p = from.allocate(10'000, 64);
  EXPECT_NE(p, nullptr);
  from.deallocate(p, 10'000, 64);
}

}  // namespace
