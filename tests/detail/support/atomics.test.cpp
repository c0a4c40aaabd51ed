// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the atomics policy is that of the standard library, and that its atomics are lock-free.
#include <ashlar/detail/support/atomics.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

struct node {
  ashlar::detail::std_atomics::plain<node*> next = nullptr;
};

static_assert(std::is_same_v<ashlar::detail::std_atomics::atomic<node*>, std::atomic<node*>>);
static_assert(std::is_same_v<ashlar::detail::std_atomics::plain<node*>, node*>);

// The types that parts keep in atomics; a lock inside them would not survive a fork.
static_assert(ashlar::detail::std_atomics::atomic<node*>::is_always_lock_free);
static_assert(ashlar::detail::std_atomics::atomic<std::uint32_t>::is_always_lock_free);
static_assert(ashlar::detail::std_atomics::atomic<bool>::is_always_lock_free);

TEST(atomics, a_plain_member_costs_nothing) { EXPECT_EQ(sizeof(node), sizeof(void*)); }

}  // namespace
