// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests integer arithmetic against straightforward implementations.
#include <ashlar/base/bits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::max_block_bytes;
using ashlar::detail::max_size;

/// Boundary values of arithmetic: both ends, powers of two, their neighbours.
std::vector<std::size_t> boundaries() {
  std::vector<std::size_t> all = {0, max_size, max_block_bytes, max_block_bytes + 1, max_size / 3};
  for (int bit = 0; bit < std::numeric_limits<std::size_t>::digits; ++bit)
    for (const std::size_t near : {std::size_t{0}, std::size_t{1}, std::size_t{2}, max_size, max_size - 1})
      all.push_back((std::size_t{1} << bit) + near);
  return all;
}

TEST(bits, sums_and_products_know_when_they_overflow) {
  for (const std::size_t a : boundaries())
    for (const std::size_t b : boundaries()) {
      std::size_t expected = 0;
      std::size_t got = 0;
      ASSERT_EQ(ashlar::detail::checked_add(a, b, got), !__builtin_add_overflow(a, b, &expected)) << a << " + " << b;
      ASSERT_EQ(got, expected);
      ASSERT_EQ(ashlar::detail::checked_mul(a, b, got), !__builtin_mul_overflow(a, b, &expected)) << a << " * " << b;
      ASSERT_EQ(got, expected);
    }
}

TEST(bits, division_rounds_up_without_overflow) {
  for (std::size_t n = 0; n < 200; ++n)
    for (std::size_t d = 1; d < 20; ++d) ASSERT_EQ(ashlar::detail::ceil_div(n, d), (n + d - 1) / d);
  EXPECT_EQ(ashlar::detail::ceil_div(max_size, 1), max_size);
  EXPECT_EQ(ashlar::detail::ceil_div(max_size, max_size), 1u);
  EXPECT_EQ(ashlar::detail::ceil_div(max_size, 2), max_size / 2 + 1);
}

TEST(bits, numbers_are_rounded_to_the_nearest_multiple) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2)
    for (std::size_t n = 0; n < 3 * alignment; ++n) {
      ASSERT_EQ(ashlar::detail::align_down(n, alignment), n - n % alignment);
      ASSERT_EQ(ashlar::detail::align_up(n, alignment), (n + alignment - 1) / alignment * alignment);
    }
  EXPECT_EQ(ashlar::detail::align_down(max_size, max_size / 2 + 1), max_size / 2 + 1);
}

TEST(bits, addresses_are_rounded_like_numbers) {
  alignas(256) static char memory[1024];
  char* const middle = memory + 512;
  for (std::size_t alignment = 1; alignment <= 256; alignment *= 2)
    for (std::size_t offset = 0; offset < 256; ++offset) {
      ASSERT_EQ(static_cast<void*>(ashlar::detail::align_down(middle + offset, alignment)),
                middle + ashlar::detail::align_down(offset, alignment));
      ASSERT_EQ(static_cast<void*>(ashlar::detail::align_up(middle + offset, alignment)),
                middle + ashlar::detail::align_up(offset, alignment));
      ASSERT_EQ(ashlar::detail::is_aligned(middle + offset, alignment), offset % alignment == 0);
    }
}

TEST(bits, a_valid_request_fits_a_pointer_difference_with_its_alignment) {
  for (const std::size_t bytes : boundaries())
    for (const std::size_t alignment : boundaries()) {
      std::size_t sum = 0;
      const bool fits = !__builtin_add_overflow(bytes, alignment, &sum) && sum <= max_block_bytes;
      ASSERT_EQ(ashlar::detail::is_valid_request(bytes, alignment), fits && ashlar::detail::is_power_of_two(alignment))
          << bytes << " at " << alignment;
    }
}

TEST(bits, requests_that_no_machine_serves_are_not_valid) {
  for (std::size_t less = 0; less <= 64; ++less) {
    EXPECT_FALSE(ashlar::detail::is_valid_request(max_size - less, 1));
    EXPECT_FALSE(ashlar::detail::is_valid_request(max_block_bytes + less, 1));
    EXPECT_EQ(ashlar::detail::is_valid_request(max_block_bytes - less, 64), less >= 64);
  }
  EXPECT_TRUE(ashlar::detail::is_valid_request(0, 1));
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}})
    EXPECT_FALSE(ashlar::detail::is_valid_request(8, alignment));
}

// A slab divides offsets of cells, multiples of the cell size, up to 2^31.
TEST(reciprocal, is_exact_for_every_multiple_of_every_cell_size) {
  for (std::uint32_t d = 1; d <= 4096; ++d) {
    const ashlar::detail::reciprocal inverse(d);
    for (std::uint32_t k = 0; k <= (1u << 18) / d; ++k) ASSERT_EQ(inverse.divide(k * d), k) << d;
    const std::uint32_t last = (1u << 31) / d;
    for (std::uint32_t k = last - std::min(last, 100u); k <= last; ++k) ASSERT_EQ(inverse.divide(k * d), k) << d;
  }
}

TEST(reciprocal, is_exact_for_multiples_of_any_divisor) {
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto d = static_cast<std::uint32_t>(random() >> (i % 31)) | 1u;
    const auto k = static_cast<std::uint32_t>(~0u / d - random() % (1 + ~0u / d / 2));
    ASSERT_EQ(ashlar::detail::reciprocal(d).divide(k * d), k) << k << " * " << d;
  }
}

TEST(reciprocal, is_exact_for_all_numbers_whose_product_with_the_divisor_is_small) {
  for (std::uint32_t d = 1; d <= 5000; d += 1 + d / 16) {
    const ashlar::detail::reciprocal inverse(d);
    const std::uint32_t end = ~0u / d;
    for (std::uint32_t n = 0; n < std::min(end, 3000u); ++n) ASSERT_EQ(inverse.divide(n), n / d) << n << " / " << d;
    for (std::uint32_t n = end - std::min(end, 3000u); n < end; ++n)
      ASSERT_EQ(inverse.divide(n), n / d) << n << " / " << d;
  }
}

static_assert(ashlar::detail::reciprocal(24).divide(24 * 7) == 7);

}  // namespace
