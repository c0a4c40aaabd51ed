// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the size classes: every size and alignment against the plain definition, and the documented bounds.
#include <bit>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

template <class Classes>
class size_classes_of : public ::testing::Test {};

using tables = ::testing::Types<ashlar::detail::size_classes, ashlar::detail::fine_size_classes,
                                ashlar::detail::basic_size_classes<4, 4096>>;
TYPED_TEST_SUITE(size_classes_of, tables);

TYPED_TEST(size_classes_of, rise_by_the_granule_up_to_128_and_by_eighths_of_a_doubling_above) {
  std::size_t expected = 0;
  for (std::size_t number = 1; number <= TypeParam::count; ++number) {
    expected += expected < TypeParam::exact ? TypeParam::granule : std::bit_floor(expected) / 8;
    ASSERT_EQ(TypeParam::bytes_of(number), expected) << number;
  }
  EXPECT_EQ(expected, TypeParam::largest);
}

TYPED_TEST(size_classes_of, every_size_gets_the_smallest_that_has_room_and_wastes_an_eighth_at_most) {
  EXPECT_EQ(TypeParam::of(0), 1u);
  std::size_t number = 1;
  for (std::size_t bytes = 1; bytes <= TypeParam::largest; ++bytes) {
    number += bytes > TypeParam::bytes_of(number);
    ASSERT_EQ(TypeParam::of(bytes), number) << bytes;
    const std::size_t waste = TypeParam::bytes_of(number) - bytes;
    ASSERT_TRUE(bytes <= TypeParam::exact ? waste < TypeParam::granule : waste * 8 < bytes) << bytes;
  }
}

TYPED_TEST(size_classes_of, every_alignment_gets_the_smallest_class_that_is_a_multiple) {
  for (std::size_t alignment = 1; alignment <= TypeParam::largest; alignment *= 2)
    for (std::size_t bytes = 0; bytes <= TypeParam::largest; bytes += 1 + bytes / 64) {
      std::size_t expected = TypeParam::of(bytes);
      while (TypeParam::bytes_of(expected) % alignment != 0) ++expected;
      ASSERT_EQ(TypeParam::of(bytes, alignment), expected) << bytes << " at " << alignment;
      ASSERT_GE(TypeParam::alignment_of(expected), alignment);
      ASSERT_EQ(TypeParam::rounded(bytes, alignment), TypeParam::bytes_of(expected));
    }
  EXPECT_EQ(TypeParam::alignment_of(TypeParam::count), TypeParam::largest);
  EXPECT_EQ(TypeParam::alignment_of(TypeParam::count, 64), 64u);
}

TEST(size_classes, a_size_known_at_compile_time_has_its_class_then) {
  static_assert(ashlar::detail::size_classes::of(1) == 1 && ashlar::detail::size_classes::of(24) == 2);
  static_assert(ashlar::detail::size_classes::rounded(129) == 144 &&
                ashlar::detail::fine_size_classes::rounded(24) == 24);
  static_assert(ashlar::detail::fine_size_classes::rounded(24, 16) == 32 &&
                ashlar::detail::fine_size_classes::rounded(0, 64) == 64);
  static_assert(ashlar::detail::size_classes::none == 0 && ashlar::detail::size_classes::of(32 * 1024) == 72);
}

}  // namespace
