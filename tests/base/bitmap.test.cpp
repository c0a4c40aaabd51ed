// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of bits in words and bitmaps, against a count bit by bit.
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bitmap.hpp>

namespace {

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
