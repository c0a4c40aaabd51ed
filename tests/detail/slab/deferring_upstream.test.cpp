// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that deallocated memory waits until it is handed on.
#include <ashlar/detail/slab/deferring_upstream.hpp>

#include <cstddef>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::resource_ref;
using ashlar_test::counting_resource;
using ashlar_test::holdings;
using ashlar_test::nothing;
using deferring = ashlar::detail::deferring_upstream<resource_ref<counting_resource<>>>;

static_assert(ashlar::try_resource<deferring>);
static_assert(!ashlar::detail::prefaulting_resource<deferring>);
static_assert(ashlar::detail::prefaulting_resource<ashlar::detail::deferring_upstream<ashlar::page_resource>>);
static_assert(sizeof(deferring) == 2 * sizeof(void*));

TEST(deferring_upstream, gives_nothing_back_before_the_call) {
  counting_resource<> upstream;
  deferring r{upstream};
  void* const first = r.allocate(1000, 64);
  void* const second = r.try_allocate(2000, 128);
  ASSERT_NE(second, nullptr);
  r.deallocate(first, 1000, 64);
  r.deallocate(second, 2000, 128);
  EXPECT_EQ(upstream.balance(), (holdings{2, 3000}));
  r.hand_on(r.take_returned());
  EXPECT_EQ(upstream.balance(), nothing);
}

TEST(deferring_upstream, has_nothing_waiting_once_it_was_taken) {
  counting_resource<> upstream;
  deferring r{upstream};
  EXPECT_EQ(r.take_returned(), nullptr);
  r.hand_on(nullptr);
  r.deallocate(r.allocate(64, 64), 64, 64);
  deferring::returned* const taken = r.take_returned();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->next, nullptr);
  EXPECT_EQ(taken->bytes, 64u);
  EXPECT_EQ(taken->alignment, 64u);
  EXPECT_EQ(r.take_returned(), nullptr);
  r.deallocate(r.allocate(32, 32), 32, 32);  // while the first is on its way
  r.hand_on(taken);
  EXPECT_EQ(upstream.balance(), (holdings{1, 32}));
  r.hand_on(r.take_returned());
  EXPECT_EQ(upstream.balance(), nothing);
}

TEST(deferring_upstream, hands_on_each_of_many_with_its_own_size) {
  counting_resource<> upstream;  // reports blocks that do not come back as they went out
  deferring r{upstream};
  std::vector<void*> blocks(100);
  const auto bytes_of = [](std::size_t i) { return 64 * (i + 1); };
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = r.allocate(bytes_of(i), 64);
  for (std::size_t i = 0; i < blocks.size(); ++i) r.deallocate(blocks[i], bytes_of(i), 64);
  r.hand_on(r.take_returned());
  EXPECT_EQ(upstream.deallocations(), blocks.size());
}

TEST(deferring_upstream, refuses_as_its_upstream_does) {
  counting_resource<> upstream;
  deferring r{upstream};
  upstream.fail_from(0);
  EXPECT_EQ(r.try_allocate(64, 64), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(r.allocate(64, 64)), std::bad_alloc);
#endif
}

TEST(deferring_upstream, is_equal_where_its_upstream_is) {
  counting_resource<> upstream, other;
  const deferring a{upstream}, b{upstream}, c{other};
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
}

}  // namespace
