// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the array that starts inside its owner.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/grown_array.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar_test::counting_resource;

TEST(grown_array, starts_inside_and_doubles_outside) {
  counting_resource<> upstream;
  ashlar::detail::grown_array<int, 4> array;
  EXPECT_EQ(array.capacity(), 4u);
  for (std::size_t size = 0; size < 1000; ++size) {
    if (size == array.capacity()) {
      ASSERT_TRUE(array.grow(upstream));
      ASSERT_EQ(upstream.balance().bytes, array.upstream_bytes());
    }
    array[size] = static_cast<int>(size);
    for (std::size_t i = 0; i <= size; i += 1 + size / 16) ASSERT_EQ(array[i], static_cast<int>(i));
  }
  array.give_back(upstream);
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  EXPECT_EQ(array.capacity(), 4u);
  EXPECT_EQ(array.upstream_bytes(), 0u);
  array.data()[3] = 5;
  EXPECT_EQ(array[3], 5);
}

TEST(grown_array, stays_as_it_was_without_memory) {
  counting_resource<> upstream;
  ashlar::detail::grown_array<int, 2> array;
  array[1] = 7;
  upstream.fail_from(0);
  EXPECT_FALSE(array.grow(upstream));
  EXPECT_EQ(array.capacity(), 2u);
  EXPECT_EQ(array[1], 7);
}

}  // namespace
