// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the compile-time properties of the threads policies.
#include <ashlar/base/lock.hpp>

#include <mutex>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>

namespace {

using ashlar::any_thread;
using ashlar::one_thread;

struct says_nothing {};

TEST(threads, policies_are_types_with_a_lock_and_an_answer) {
  EXPECT_TRUE(ashlar::policy::threads<one_thread>);
  EXPECT_TRUE(ashlar::policy::threads<any_thread<>>);
  EXPECT_TRUE(ashlar::policy::threads<any_thread<std::mutex>>);
  EXPECT_FALSE(ashlar::policy::threads<says_nothing>);
  EXPECT_FALSE(ashlar::policy::threads<std::mutex>);
}

TEST(threads, only_any_thread_shares) {
  EXPECT_FALSE(one_thread::is_shared);
  EXPECT_TRUE(any_thread<>::is_shared);
  EXPECT_TRUE(any_thread<ashlar::null_lock>::is_shared);
}

TEST(threads, one_thread_has_a_lock_that_costs_nothing) {
  EXPECT_TRUE(std::is_empty_v<one_thread::lock_type>);
  EXPECT_TRUE((std::is_same_v<any_thread<>::lock_type, ashlar::spin_lock>));
  EXPECT_TRUE((std::is_same_v<any_thread<std::mutex>::lock_type, std::mutex>));
}

}  // namespace
