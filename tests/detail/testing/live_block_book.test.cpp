// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the book of live blocks.
#include <ashlar/detail/testing/live_block_book.hpp>

#include <cstddef>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::book_error;
using ashlar::detail::holdings;
using ashlar::detail::live_block_book;

class book_of_blocks : public ::testing::Test {
protected:
  alignas(64) char memory_[256] = {};
  live_block_book<> book_;
};

TEST_F(book_of_blocks, sums_up_what_is_live_and_its_peak) {
  EXPECT_EQ(book_.add(memory_, {16, 16}), book_error::none);
  EXPECT_EQ(book_.add(memory_ + 16, {8, 8}), book_error::none);
  EXPECT_EQ(book_.live(), (holdings{2, 24}));
  EXPECT_EQ(book_.remove(memory_), (live_block_book<>::entry{16, 16}));
  EXPECT_EQ(book_.live(), (holdings{1, 8}));
  EXPECT_EQ(book_.peak(), (holdings{2, 24}));
  EXPECT_EQ(book_.blocks().size(), 1u);
}

TEST_F(book_of_blocks, says_what_is_wrong_with_a_block) {
  EXPECT_EQ(book_.add(memory_ + 64, {64, 64}), book_error::none);
  EXPECT_EQ(book_.add(nullptr, {1, 1}), book_error::null_block);
  EXPECT_EQ(book_.add(memory_ + 8, {1, 16}), book_error::misaligned);
  EXPECT_EQ(book_.add(memory_ + 127, {1, 1}), book_error::overlapping);
  EXPECT_EQ(book_.add(memory_ + 60, {5, 1}), book_error::overlapping);
  EXPECT_EQ(book_.add(memory_ + 128, {4, 64}), book_error::none);
}

TEST_F(book_of_blocks, a_block_leaves_once) {
  book_.add(memory_, {16, 16});
  EXPECT_FALSE(book_.remove(memory_ + 1));
  EXPECT_TRUE(book_.remove(memory_));
  EXPECT_FALSE(book_.remove(memory_));
  EXPECT_EQ(book_.live(), holdings{});
}

TEST_F(book_of_blocks, keeps_a_note_with_each_block) {
  live_block_book<int> noted;
  noted.add(memory_, {16, 16, 7});
  EXPECT_EQ(noted.remove(memory_)->note, 7);
}

TEST_F(book_of_blocks, moving_leaves_an_empty_book) {
  book_.add(memory_, {16, 16});
  const live_block_book<> taken = std::move(book_);
  EXPECT_EQ(taken.live(), (holdings{1, 16}));
  EXPECT_EQ(book_.live(), holdings{});
}

TEST_F(book_of_blocks, holdings_print_as_a_sentence) {
  std::ostringstream out;
  out << holdings{2, 24};
  EXPECT_EQ(out.str(), "2 blocks, 24 bytes");
}

}  // namespace
