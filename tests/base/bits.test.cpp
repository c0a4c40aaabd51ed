// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of integer arithmetic, of bits in words and of bitmaps against straightforward implementations.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>

namespace {

using ashlar::max_block_bytes;
using ashlar::max_size;

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
      ASSERT_EQ(ashlar::checked_add(a, b, got), !__builtin_add_overflow(a, b, &expected)) << a << " + " << b;
      ASSERT_EQ(got, expected);
      ASSERT_EQ(ashlar::checked_mul(a, b, got), !__builtin_mul_overflow(a, b, &expected)) << a << " * " << b;
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
      ASSERT_EQ(ashlar::align_down(n, alignment), n - n % alignment);
      ASSERT_EQ(ashlar::align_up(n, alignment), (n + alignment - 1) / alignment * alignment);
    }
  EXPECT_EQ(ashlar::align_down(max_size, max_size / 2 + 1), max_size / 2 + 1);
}

TEST(bits, addresses_are_rounded_like_numbers) {
  alignas(256) static char memory[1024];
  char* const middle = memory + 512;
  for (std::size_t alignment = 1; alignment <= 256; alignment *= 2)
    for (std::size_t offset = 0; offset < 256; ++offset) {
      ASSERT_EQ(static_cast<void*>(ashlar::align_down(middle + offset, alignment)),
                middle + ashlar::align_down(offset, alignment));
      ASSERT_EQ(static_cast<void*>(ashlar::align_up(middle + offset, alignment)),
                middle + ashlar::align_up(offset, alignment));
      ASSERT_EQ(ashlar::is_aligned(middle + offset, alignment), offset % alignment == 0);
    }
}

TEST(bits, a_valid_request_fits_a_pointer_difference_with_its_alignment) {
  for (const std::size_t bytes : boundaries())
    for (const std::size_t alignment : boundaries()) {
      std::size_t sum = 0;
      const bool fits = !__builtin_add_overflow(bytes, alignment, &sum) && sum <= max_block_bytes;
      ASSERT_EQ(ashlar::is_valid_request(bytes, alignment), fits && ashlar::is_power_of_two(alignment))
          << bytes << " at " << alignment;
    }
}

TEST(bits, requests_that_no_machine_serves_are_not_valid) {
  for (std::size_t less = 0; less <= 64; ++less) {
    EXPECT_FALSE(ashlar::is_valid_request(max_size - less, 1));
    EXPECT_FALSE(ashlar::is_valid_request(max_block_bytes + less, 1));
    EXPECT_EQ(ashlar::is_valid_request(max_block_bytes - less, 64), less >= 64);
  }
  EXPECT_TRUE(ashlar::is_valid_request(0, 1));
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}})
    EXPECT_FALSE(ashlar::is_valid_request(8, alignment));
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

using ashlar::detail::bit_word;
using ashlar::detail::ones;

bool is_run(bit_word mask, std::size_t first, std::size_t length) {
  if (first + length > 64) return false;
  for (std::size_t i = first; i < first + length; ++i)
    if (((mask >> i) & 1) == 0) return false;
  return true;
}

// Words with runs of all lengths: the AND of two random words is sparse, the OR of three is dense.
std::vector<bit_word> words() {
  std::mt19937_64 random(1);
  std::vector<bit_word> made = {0, 1, bit_word{1} << 63, ~bit_word{0}, ~bit_word{1}};
  for (int i = 0; i < 100; ++i)
    made.push_back(random()), made.push_back(random() & random()), made.push_back(random() | random() | random());
  return made;
}

TEST(bitmap, finds_the_starts_of_runs) {
  for (const bit_word word : words())
    for (std::size_t length = 1; length <= 64; ++length)
      for (std::size_t first = 0; first < 64; ++first)
        ASSERT_EQ((ashlar::detail::starts_of_runs(word, length) >> first) & 1, is_run(word, first, length) ? 1u : 0u);
}

TEST(bitmap, measures_runs) {
  for (const bit_word word : words()) {
    std::size_t longest = 0;
    bit_word seen = 0;
    ashlar::detail::for_each_run(word, [&](std::size_t first, std::size_t length) {
      EXPECT_TRUE(is_run(word, first, length));
      EXPECT_FALSE(first != 0 && is_run(word, first - 1, 1)) << "does not start there";
      EXPECT_EQ(ashlar::detail::run_from(word, first), length);
      for (std::size_t at = first; at < first + length; ++at) ASSERT_EQ(ashlar::detail::run_around(word, at), length);
      longest = longest > length ? longest : length;
      seen |= ones(first, length);
    });
    EXPECT_EQ(seen, word);
    EXPECT_EQ(ashlar::detail::longest_run_in(word), longest);
  }
  EXPECT_EQ(ashlar::detail::run_from(~bit_word{0}, 64), 0u);
}

TEST(bitmap, knows_multiples) {
  for (std::size_t step = 1; step <= 64; step *= 2)
    for (std::size_t bit = 0; bit < 64; ++bit)
      EXPECT_EQ((ashlar::detail::multiples_of(step) >> bit) & 1, bit % step == 0 ? 1u : 0u);
}

TEST(bitmap, takes_the_first_bits_of_a_word) {
  for (const bit_word word : words())
    for (std::size_t most = 0; most <= 65; ++most) {
      bit_word expected = 0;
      std::size_t taken = 0;
      ashlar::detail::for_each_bit(word, [&](std::size_t bit) {
        if (taken++ < most) expected |= bit_word{1} << bit;
      });
      ASSERT_EQ(ashlar::detail::first_bits(word, most), expected);
      ASSERT_EQ(taken, ashlar::detail::count_bits(word));
    }
}

TEST(bitmap, chooses_each_of_a_few_neighbours_as_often) {
  for (std::size_t length = 1; length <= 64; ++length) {
    std::vector<int> chosen(64);
    for (std::uint64_t random = 0; random < 64; ++random) ++chosen[ashlar::detail::any_bit(ones(0, length), random)];
    const int share = static_cast<int>(64 / length);
    for (std::size_t at = 0; at < length; ++at) ASSERT_TRUE(chosen[at] == share || chosen[at] == share + 1) << at;
  }
}

TEST(bitmap, chooses_ones_alone) {
  for (const bit_word word : words())
    for (std::uint64_t random = 0; word != 0 && random < 64; ++random)
      ASSERT_TRUE(is_run(word, ashlar::detail::any_bit(word, random), 1));
}

// A bitmap and the same bits one by one.
struct checked_bitmap {
  explicit checked_bitmap(std::size_t bits) : words(ashlar::detail::bitmap::words_of(bits)), each(bits) {}

  void change(std::size_t index, bool bit) {
    each[index] = bit;
    bit ? view().set(index) : view().clear(index);
  }
  [[nodiscard]] ashlar::detail::bitmap view() { return {words.data(), each.size()}; }
  [[nodiscard]] std::size_t next(bool bit, std::size_t index) const {
    while (index < each.size() && each[index] != bit) ++index;
    return index;
  }

  void expect_same() {
    std::size_t ones = 0;
    std::vector<std::size_t> clear, found;
    for (std::size_t i = 0; i < each.size(); ++i) {
      ASSERT_EQ(view()[i], each[i]);
      ASSERT_EQ(view().next_set(i), next(true, i));
      ASSERT_EQ(view().next_clear(i), next(false, i));
      each[i] ? void(++ones) : clear.push_back(i);
    }
    EXPECT_EQ(view().count(), ones);
    view().for_each_clear([&](std::size_t index) { found.push_back(index); });
    EXPECT_EQ(found, clear);
    expect_runs();
    EXPECT_TRUE(view().invariant());
  }

  void expect_runs() {
    std::size_t end = 0;
    view().for_each_run([&](std::size_t first, std::size_t last) {
      EXPECT_EQ(first, next(true, end));
      EXPECT_EQ(last, next(false, first));
      end = last;
    });
    EXPECT_EQ(next(true, end), each.size()) << "a run was left out";
  }

  std::vector<bit_word> words;
  std::vector<bool> each;
};

TEST(bitmap, finds_and_counts_what_was_set) {
  std::mt19937 random(2);
  for (const std::size_t bits : {0u, 1u, 63u, 64u, 65u, 128u, 300u}) {
    checked_bitmap tested(bits);
    ASSERT_NO_FATAL_FAILURE(tested.expect_same());
    for (std::size_t step = 0; step < 3 * bits; ++step) tested.change(random() % bits, random() % 3 != 0);
    ASSERT_NO_FATAL_FAILURE(tested.expect_same());
    tested.view().set_all();
    tested.each.assign(bits, true);
    ASSERT_NO_FATAL_FAILURE(tested.expect_same());
  }
}

TEST(bitmap, knows_bits_beyond_its_last) {
  bit_word word = 0b1000;
  EXPECT_TRUE(ashlar::detail::const_bitmap(&word, 4).invariant());
  EXPECT_FALSE(ashlar::detail::const_bitmap(&word, 3).invariant());
}

}  // namespace
