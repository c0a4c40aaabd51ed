// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the record of live blocks detects every impossible entry.
#include "tests/support/ledger.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "tests/support/failures_of.hpp"

namespace {

using ashlar_test::failures_of;
using ashlar_test::holdings;
using ashlar_test::ledger;

class ledger_book : public ::testing::Test {
protected:
  alignas(64) char memory[256] = {};
  ledger book_;

  [[nodiscard]] bool complains_of_adding(const void* p, std::size_t bytes, std::size_t alignment) {
    return !failures_of([&] { book_.add(p, bytes, alignment); }).empty();
  }
  [[nodiscard]] bool complains_of_removing(const void* p, std::size_t bytes, std::size_t alignment) {
    return !failures_of([&] { book_.remove(p, bytes, alignment); }).empty();
  }
};

TEST_F(ledger_book, sums_up_what_is_live_and_its_peak) {
  book_.add(memory, 16, 16);
  book_.add(memory + 16, 8, 8);
  EXPECT_EQ(book_.live(), (holdings{2, 24}));
  EXPECT_TRUE(book_.remove(memory, 16, 16));
  EXPECT_EQ(book_.live(), (holdings{1, 8}));
  EXPECT_EQ(book_.peak(), (holdings{2, 24}));
}

TEST_F(ledger_book, blocks_may_touch_but_not_overlap) {
  book_.add(memory + 64, 64, 64);
  EXPECT_FALSE(complains_of_adding(memory, 64, 64));
  EXPECT_FALSE(complains_of_adding(memory + 128, 64, 64));
  EXPECT_TRUE(complains_of_adding(memory + 127, 1, 1));
  EXPECT_TRUE(complains_of_adding(memory + 64, 0, 1));
  EXPECT_TRUE(complains_of_adding(memory + 192 - 1, 2, 1));
}

TEST_F(ledger_book, empty_blocks_have_addresses_of_their_own) {
  EXPECT_FALSE(complains_of_adding(memory, 0, 1));
  EXPECT_TRUE(complains_of_adding(memory, 0, 1));
  EXPECT_TRUE(complains_of_adding(memory, 4, 1));
}

TEST_F(ledger_book, refuses_null_and_misaligned_blocks) {
  EXPECT_TRUE(complains_of_adding(nullptr, 1, 1));
  EXPECT_TRUE(complains_of_adding(memory + 8, 1, 16));
}

TEST_F(ledger_book, a_block_leaves_once_and_as_it_entered) {
  book_.add(memory, 16, 16);
  EXPECT_TRUE(complains_of_removing(memory + 1, 16, 16));
  EXPECT_FALSE(complains_of_removing(memory, 16, 16));
  EXPECT_TRUE(complains_of_removing(memory, 16, 16));
  book_.add(memory, 16, 16);
  EXPECT_TRUE(complains_of_removing(memory, 15, 16));
  book_.add(memory, 16, 16);
  EXPECT_TRUE(complains_of_removing(memory, 16, 8));
}

TEST_F(ledger_book, moving_leaves_an_empty_book) {
  book_.add(memory, 16, 16);
  const ledger taken = std::move(book_);
  EXPECT_EQ(taken.live(), (holdings{1, 16}));
  EXPECT_EQ(book_.live(), ashlar_test::nothing);
}

}  // namespace
