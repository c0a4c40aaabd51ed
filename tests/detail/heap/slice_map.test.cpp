// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of runs of ones in a word, against a count bit by bit.
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/slice_map.hpp>

namespace {

using ashlar::detail::slice_mask;
using ashlar::detail::slices;

bool is_run(slice_mask mask, std::size_t first, std::size_t length) {
  if (first + length > 64) return false;
  for (std::size_t i = first; i < first + length; ++i)
    if (((mask >> i) & 1) == 0) return false;
  return true;
}

// Words with runs of all lengths: the AND of two random words is sparse, the OR of three is dense.
std::vector<slice_mask> words() {
  std::mt19937_64 random(1);
  std::vector<slice_mask> made = {0, 1, slice_mask{1} << 63, ~slice_mask{0}, ~slice_mask{1}};
  for (int i = 0; i < 100; ++i)
    made.push_back(random()), made.push_back(random() & random()), made.push_back(random() | random() | random());
  return made;
}

TEST(slice_map, finds_the_starts_of_runs) {
  for (const slice_mask word : words())
    for (std::size_t length = 1; length <= 64; ++length)
      for (std::size_t first = 0; first < 64; ++first)
        ASSERT_EQ((ashlar::detail::starts_of_runs(word, length) >> first) & 1, is_run(word, first, length) ? 1u : 0u);
}

TEST(slice_map, measures_runs) {
  for (const slice_mask word : words()) {
    std::size_t longest = 0;
    slice_mask seen = 0;
    ashlar::detail::for_each_run(word, [&](std::size_t first, std::size_t length) {
      EXPECT_TRUE(is_run(word, first, length));
      EXPECT_FALSE(first != 0 && is_run(word, first - 1, 1)) << "does not start there";
      EXPECT_EQ(ashlar::detail::run_from(word, first), length);
      for (std::size_t at = first; at < first + length; ++at) ASSERT_EQ(ashlar::detail::run_around(word, at), length);
      longest = longest > length ? longest : length;
      seen |= slices(first, length);
    });
    EXPECT_EQ(seen, word);
    EXPECT_EQ(ashlar::detail::longest_run_in(word), longest);
  }
  EXPECT_EQ(ashlar::detail::run_from(~slice_mask{0}, 64), 0u);
}

TEST(slice_map, knows_multiples) {
  for (std::size_t step = 1; step <= 64; step *= 2)
    for (std::size_t bit = 0; bit < 64; ++bit)
      EXPECT_EQ((ashlar::detail::multiples_of(step) >> bit) & 1, bit % step == 0 ? 1u : 0u);
}

}  // namespace
