// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the link back to a resource: its cost, its resource, and the types that it accepts.
#include <ashlar/detail/face/resource_link.hpp>

#include <memory_resource>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::block_pool;
using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::detail::link_to;
using ashlar::detail::referred_resource;
using ashlar::detail::resource_argument;
using ashlar::detail::resource_link;

static_assert(std::is_empty_v<resource_link<new_delete_resource>> &&
              std::is_empty_v<resource_link<ashlar::page_resource>>);
static_assert(sizeof(resource_link<block_pool<>>) == sizeof(void*));
static_assert(sizeof(resource_link<std::pmr::memory_resource>) == sizeof(void*));
static_assert(std::is_trivially_copyable_v<resource_link<block_pool<>>>);

static_assert(std::is_same_v<referred_resource<resource_ref<block_pool<>>>, block_pool<>>);
static_assert(std::is_same_v<referred_resource<block_pool<>>, block_pool<>>);

static_assert(resource_argument<block_pool<>&> && !resource_argument<block_pool<>>, "a temporary would be gone");
static_assert(resource_argument<resource_ref<block_pool<>>> && resource_argument<const resource_ref<block_pool<>>&>);
static_assert(resource_argument<new_delete_resource> && resource_argument<const new_delete_resource&>);
static_assert(resource_argument<std::pmr::memory_resource&> && !resource_argument<int&>);

TEST(resource_link, leads_to_what_it_was_made_for) {
  block_pool<> pool({.cell_bytes = 16});
  EXPECT_EQ(&link_to(pool).get(), &pool);
}

TEST(resource_link, leads_to_what_a_reference_refers_to) {
  block_pool<> pool({.cell_bytes = 16});
  const resource_ref ref(pool);
  static_assert(std::is_same_v<decltype(link_to(ref)), resource_link<block_pool<>>>);
  EXPECT_EQ(&link_to(ref).get(), &pool);
}

TEST(resource_link, makes_a_resource_without_state_again) {
  const new_delete_resource any;
  void* const block = link_to(any).get().allocate(24, 8);
  link_to(any).get().deallocate(block, 24, 8);
  EXPECT_TRUE(link_to(any).get() == any);
}

TEST(resource_link, reports_a_null_resource) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const resource_link<block_pool<>> nowhere;
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(nowhere.get()),
                           "ashlar: precondition: freed to a deleter that has no resource");
}

}  // namespace
