// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the result of `allocate_at_least` has the shape that containers of C++23 expect.
#include <ashlar/detail/support/allocation_result.hpp>

#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

using result = ashlar::detail::allocation_result<int*>;

static_assert(std::is_same_v<decltype(result::ptr), int*> && std::is_same_v<decltype(result::count), std::size_t>);
static_assert(std::is_same_v<decltype(ashlar::detail::allocation_result<int*, short>::count), short>);
static_assert(std::is_aggregate_v<result> && std::is_trivially_copyable_v<result>);

TEST(allocation_result, comes_apart_into_pointer_and_count) {
  int numbers[3] = {};
  const auto [ptr, count] = result{numbers, 3};
  EXPECT_EQ(ptr, numbers);
  EXPECT_EQ(count, 3u);
}

}  // namespace
