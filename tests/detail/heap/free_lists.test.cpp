// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of free lists: their limits, and their refill from cell batches.
#include <ashlar/detail/heap/free_lists.hpp>

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::size_classes;

alignas(ashlar::detail::slice_bytes) std::byte slice[ashlar::detail::slice_bytes];

TEST(free_lists, may_have_a_quarter_of_a_megabyte_each_and_so_many_cells) {
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const std::size_t bytes = size_classes::bytes_of(number);
    const ashlar::detail::list_share share = ashlar::detail::no_cached_cells(4096)[number];
    EXPECT_EQ(share.bytes, 0u);
    EXPECT_EQ(share.each, ashlar::detail::bytes_per_sample(number));
    EXPECT_LE(share.most, 4096 * bytes);
    EXPECT_LE(share.most, 256 * 1024 + 16 * bytes);
    EXPECT_EQ(ashlar::detail::no_cached_cells(1)[number].most, bytes);
  }
}

TEST(free_lists, get_the_next_cells_of_a_word_in_its_order) {
  ashlar::detail::free_lists lists;
  ashlar::detail::cell_batch word{slice + 1024, 0b1110'1111'0101};
  ashlar::detail::refill(word, 16, 3, lists);
  EXPECT_EQ(word.mask, 0b1000'0000'0001u) << "seven went, and the first cell comes last";
  for (const std::size_t place : {2u, 4u, 5u, 6u, 7u, 9u, 10u}) EXPECT_EQ(lists.pop(3), slice + 1024 + place * 16);
  EXPECT_TRUE(lists.is_empty(3));
}

TEST(free_lists, get_no_sampled_address) {
  ashlar::detail::free_lists lists;
  ashlar::detail::cell_batch word{slice, 0b1111};
  ashlar::detail::refill(word, 128, 3, lists);
  EXPECT_EQ(word.mask, 0b1111u) << "the second cell is one";
  word.mask = 0b1101;
  ashlar::detail::refill(word, 128, 3, lists);
  EXPECT_EQ(word.mask, 1u) << "the first is one";
  EXPECT_EQ(lists.pop(3), slice + 2 * 128);
  EXPECT_EQ(lists.pop(3), slice + 3 * 128);
  EXPECT_EQ(lists.pop(3), nullptr);
}

}  // namespace
