// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pointer class that holds a distance.
#include <ashlar/face/offset_ptr.hpp>

#include <array>
#include <compare>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace {

using ashlar::interprocess::offset_ptr;

struct base {
  int value = 1;
};
struct derived : base {};
[[maybe_unused]] void address_of(const void*) {}  // found beside them, and not called

// Converts like a plain pointer, both ways.
static_assert(std::is_convertible_v<offset_ptr<int>, offset_ptr<const int>>);
static_assert(std::is_convertible_v<offset_ptr<int>, offset_ptr<void>>);
static_assert(std::is_convertible_v<offset_ptr<const int>, offset_ptr<const void>>);
static_assert(std::is_convertible_v<offset_ptr<derived>, offset_ptr<base>>);
static_assert(!std::is_constructible_v<offset_ptr<int>, offset_ptr<const int>>);
static_assert(!std::is_constructible_v<offset_ptr<int>, offset_ptr<long>>);
static_assert(!std::is_constructible_v<offset_ptr<void>, offset_ptr<const int>>);
static_assert(std::is_constructible_v<offset_ptr<int>, offset_ptr<void>>);
static_assert(!std::is_convertible_v<offset_ptr<void>, offset_ptr<int>>);
static_assert(!std::is_convertible_v<offset_ptr<base>, offset_ptr<derived>>);
static_assert(!std::is_convertible_v<int*, offset_ptr<int>> && !std::is_convertible_v<offset_ptr<int>, int*>);
static_assert(!std::is_convertible_v<offset_ptr<int>, bool> && std::is_constructible_v<bool, offset_ptr<int>>);

using traits = std::pointer_traits<offset_ptr<int>>;
static_assert(std::is_same_v<traits::element_type, int> && std::is_same_v<traits::rebind<long>, offset_ptr<long>>);
static_assert(std::is_nothrow_copy_constructible_v<offset_ptr<int>> && !std::is_trivially_copyable_v<offset_ptr<void>>);
static_assert(std::totally_ordered<offset_ptr<int>> && std::totally_ordered<offset_ptr<void>>);

TEST(offset_ptr, is_null_until_it_points) {
  const offset_ptr<int> none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none == nullptr && nullptr == none && none == offset_ptr<int>(nullptr));
  EXPECT_EQ(std::to_address(none), nullptr);
  EXPECT_EQ(offset_ptr<int>(static_cast<int*>(nullptr)), none);
  EXPECT_EQ(offset_ptr<const void>(none), nullptr);
  EXPECT_EQ(offset_ptr<derived>() <=> offset_ptr<derived>(nullptr), std::strong_ordering::equal);
}

TEST(offset_ptr, points_to_its_target_after_any_copy) {
  int target = 7;
  const offset_ptr<int> p(&target);
  std::array<offset_ptr<int>, 3> copies{p, p, p};
  for (const offset_ptr<int>& each : copies) EXPECT_EQ(each.get(), &target);
  copies[0] = nullptr;
  copies[1] = std::move(copies[2]);
  copies[2] = std::as_const(copies[2]);
  EXPECT_EQ(copies[1], p);
  EXPECT_EQ(copies[2], p);
  EXPECT_NE(copies[0], p);
  EXPECT_EQ(*p, 7);
  EXPECT_EQ(traits::pointer_to(target), p);
}

TEST(offset_ptr, a_copy_byte_by_byte_points_to_another_address) {
  int target = 7;
  const offset_ptr<int> p(&target);
  offset_ptr<int> copy;
  std::memcpy(static_cast<void*>(&copy), static_cast<const void*>(&p), sizeof p);
  EXPECT_NE(copy.get(), &target);
}

TEST(offset_ptr, walks_as_a_pointer_does) {
  int numbers[5] = {0, 10, 20, 30, 40};
  offset_ptr<int> p(numbers);
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

TEST(offset_ptr, converts_to_void_and_to_bases_and_back) {
  derived object;
  const offset_ptr<derived> p(&object);
  const offset_ptr<base> up = p;
  EXPECT_EQ(up->value, 1);
  EXPECT_EQ(static_cast<offset_ptr<derived>>(up), p);
  const offset_ptr<void> anything = p;
  EXPECT_EQ(static_cast<offset_ptr<derived>>(anything), p);
  const offset_ptr<const derived> read_only = p;
  EXPECT_EQ(read_only, p);
}

}  // namespace
