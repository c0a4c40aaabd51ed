// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pointer class that holds a distance.
#include <ashlar/test/fancy_ptr.hpp>

#include <array>
#include <compare>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace {

using ashlar::test::fancy_ptr;

struct base {
  int value = 1;
};
struct derived : base {};

// Converts like a plain pointer, both ways.
static_assert(std::is_convertible_v<fancy_ptr<int>, fancy_ptr<const int>>);
static_assert(std::is_convertible_v<fancy_ptr<int>, fancy_ptr<void>>);
static_assert(std::is_convertible_v<fancy_ptr<const int>, fancy_ptr<const void>>);
static_assert(std::is_convertible_v<fancy_ptr<derived>, fancy_ptr<base>>);
static_assert(!std::is_constructible_v<fancy_ptr<int>, fancy_ptr<const int>>);
static_assert(!std::is_constructible_v<fancy_ptr<int>, fancy_ptr<long>>);
static_assert(!std::is_constructible_v<fancy_ptr<void>, fancy_ptr<const int>>);
static_assert(std::is_constructible_v<fancy_ptr<int>, fancy_ptr<void>>);
static_assert(!std::is_convertible_v<fancy_ptr<void>, fancy_ptr<int>>);
static_assert(!std::is_convertible_v<fancy_ptr<base>, fancy_ptr<derived>>);
static_assert(!std::is_convertible_v<int*, fancy_ptr<int>> && !std::is_convertible_v<fancy_ptr<int>, int*>);
static_assert(!std::is_convertible_v<fancy_ptr<int>, bool> && std::is_constructible_v<bool, fancy_ptr<int>>);

using traits = std::pointer_traits<fancy_ptr<int>>;
static_assert(std::is_same_v<traits::element_type, int> && std::is_same_v<traits::rebind<long>, fancy_ptr<long>>);
static_assert(std::is_nothrow_copy_constructible_v<fancy_ptr<int>> && !std::is_trivially_copyable_v<fancy_ptr<void>>);
static_assert(std::totally_ordered<fancy_ptr<int>> && std::totally_ordered<fancy_ptr<void>>);

TEST(fancy_ptr, is_null_until_it_points) {
  const fancy_ptr<int> none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == nullptr && nullptr == none && none == fancy_ptr<int>(nullptr));
  EXPECT_EQ(std::to_address(none), nullptr);
  EXPECT_EQ(fancy_ptr<int>(static_cast<int*>(nullptr)), none);
  EXPECT_EQ(fancy_ptr<const void>(none), nullptr);
}

TEST(fancy_ptr, points_to_its_target_after_any_copy) {
  int target = 7;
  const fancy_ptr<int> p(&target);
  std::array<fancy_ptr<int>, 3> copies{p, p, p};
  for (const fancy_ptr<int>& each : copies) EXPECT_EQ(each.get(), &target);
  copies[0] = nullptr;
  copies[1] = std::move(copies[2]);
  copies[2] = std::as_const(copies[2]);
  EXPECT_EQ(copies[1], p);
  EXPECT_EQ(copies[2], p);
  EXPECT_NE(copies[0], p);
  EXPECT_EQ(*p, 7);
  EXPECT_EQ(traits::pointer_to(target), p);
}

TEST(fancy_ptr, a_copy_byte_by_byte_points_to_another_address) {
  int target = 7;
  const fancy_ptr<int> p(&target);
  fancy_ptr<int> copy;
  std::memcpy(static_cast<void*>(&copy), static_cast<const void*>(&p), sizeof p);
  EXPECT_NE(copy.get(), &target);
}

TEST(fancy_ptr, walks_as_a_pointer_does) {
  int numbers[5] = {0, 10, 20, 30, 40};
  fancy_ptr<int> p(numbers);
  EXPECT_EQ(*++p, 10);
  EXPECT_EQ(*p++, 10);
  EXPECT_EQ(*p--, 20);
  EXPECT_EQ(*--p, 0);
  EXPECT_EQ(*(p + 3), 30);
  EXPECT_EQ(*(4 + p), 40);
  p += 4;
  EXPECT_EQ(*(p - 1), 30);
  EXPECT_EQ(p[-2], 20);
  p -= 4;
  EXPECT_EQ(p + 5 - p, 5);
  EXPECT_TRUE(p < p + 1 && p + 1 > p && p <= p && p >= p);
  EXPECT_EQ(std::distance(p, p + 5), 5);
}

TEST(fancy_ptr, converts_to_void_and_to_bases_and_back) {
  derived object;
  const fancy_ptr<derived> p(&object);
  const fancy_ptr<base> up = p;
  EXPECT_EQ(up->value, 1);
  EXPECT_EQ(static_cast<fancy_ptr<derived>>(up), p);
  const fancy_ptr<void> anything = p;
  EXPECT_EQ(static_cast<fancy_ptr<derived>>(anything), p);
  const fancy_ptr<const derived> read_only = p;
  EXPECT_EQ(read_only, p);
}

}  // namespace
