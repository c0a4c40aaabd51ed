// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the size classes: every size and alignment against the plain definition, and the documented bounds.
#include <bit>
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

using ashlar::detail::fine_size_classes;
using ashlar::detail::size_classes;

// By classes, not by sizes: the smallest request of a class, one byte above the class before, wastes most.
template <class Classes>
[[nodiscard]] constexpr bool wastes_an_eighth_at_most() noexcept {
  for (std::size_t size_class = 2; size_class <= Classes::count; ++size_class) {
    const std::size_t least = Classes::bytes_of(size_class - 1) + 1;
    const std::size_t cell = Classes::bytes_of(size_class);
    if (Classes::of(least) != size_class || Classes::of(cell) != size_class) return false;
    if (cell - least >= (cell <= Classes::exact ? Classes::granule : (least + 7) / 8)) return false;
  }
  return Classes::bytes_of(1) == Classes::granule && Classes::bytes_of(Classes::count) == Classes::largest;
}

// No multiple of an alignment falls in a class whose size is not a multiple of it.
template <class Classes>
[[nodiscard]] constexpr bool keeps_alignment() noexcept {
  for (std::size_t size_class = 1; size_class <= Classes::count; ++size_class)
    for (std::size_t alignment = 1; alignment <= Classes::largest; alignment *= 2) {
      const std::size_t cell = Classes::bytes_of(size_class);
      const std::size_t below = size_class == 1 ? 0 : Classes::bytes_of(size_class - 1);
      if (cell % alignment != 0 && ashlar::detail::align_down(cell, alignment) > below) return false;
    }
  return true;
}

[[nodiscard]] constexpr bool is_extra(std::size_t cell) noexcept {
  return cell == 1040 || cell == 4352 || cell == 4368 || cell == 8224;
}

static_assert(wastes_an_eighth_at_most<size_classes>() && keeps_alignment<size_classes>());
static_assert(wastes_an_eighth_at_most<fine_size_classes>() && keeps_alignment<fine_size_classes>());

template <class Classes>
class size_classes_of : public ::testing::Test {};

using tables = ::testing::Types<size_classes, fine_size_classes, ashlar::detail::basic_size_classes<4, 4096>>;
TYPED_TEST_SUITE(size_classes_of, tables);

TYPED_TEST(size_classes_of, rise_by_the_granule_up_to_128_and_by_eighths_of_a_doubling_above) {
  std::size_t expected = 0;
  for (std::size_t number = 1; number <= TypeParam::count; ++number) {
    if (std::is_same_v<TypeParam, size_classes> && is_extra(TypeParam::bytes_of(number))) continue;
    expected += expected < TypeParam::exact ? TypeParam::granule : std::bit_floor(expected) / 8;
    ASSERT_EQ(TypeParam::bytes_of(number), expected) << number;
  }
  EXPECT_EQ(expected, TypeParam::largest);
}

TYPED_TEST(size_classes_of, every_size_gets_the_smallest_that_has_room_and_wastes_an_eighth_at_most) {
  EXPECT_EQ(TypeParam::of(0), 1u);
  EXPECT_EQ(TypeParam::of_small(0), 1u);
  std::size_t number = 1;
  for (std::size_t bytes = 1; bytes <= TypeParam::largest; ++bytes) {
    number += bytes > TypeParam::bytes_of(number);
    ASSERT_EQ(TypeParam::of(bytes), number) << bytes;
    const std::size_t waste = TypeParam::bytes_of(number) - bytes;
    if (bytes <= TypeParam::most_small) ASSERT_EQ(TypeParam::of_small(bytes), number) << bytes;
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
  static_assert(ashlar::detail::size_classes::none == 0 && ashlar::detail::size_classes::of(32 * 1024) == 76);
}

TEST(size_classes, a_power_of_two_and_a_header_wastes_little) {
  EXPECT_EQ(size_classes::rounded(1024 + 8), 1040u);
  EXPECT_EQ(size_classes::rounded(1040 + 1), 1152u);
  EXPECT_EQ(size_classes::rounded(4096 + 272), 4368u);
  EXPECT_EQ(size_classes::rounded(4096 + 256, 256), 4352u);
  EXPECT_EQ(size_classes::rounded(8192 + 32), 8224u);
  EXPECT_EQ(size_classes::rounded(8192 + 64, 64), 9216u);
}

}  // namespace
