// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the word of a slot: its two meanings, counting, and the largest number.
#include <ashlar/detail/slots/slot_word.hpp>

#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include "tests/support/death.hpp"

namespace {

namespace word = ashlar::detail::slot_word;
using ashlar::detail::plain_slot_word;
using ashlar::detail::shared_slot_word;

template <class Word>
class slot_words : public ::testing::Test {};
using kinds = ::testing::Types<plain_slot_word, shared_slot_word<>>;
TYPED_TEST_SUITE(slot_words, kinds);

TEST(slot_word, marks_and_numbers_do_not_overlap) {
  EXPECT_EQ(word::free_mark & word::raw_mark, 0u);
  EXPECT_EQ((word::free_mark | word::raw_mark) & word::number_mask, 0u);
  EXPECT_EQ(word::free_mark | word::raw_mark | word::number_mask, ~std::uint32_t{0});
}

TEST(slot_word, no_slot_has_the_numbers_that_mean_none_and_closed) {
  EXPECT_NE(word::none, word::closed);
  EXPECT_GE(word::none, word::max_slots);
  EXPECT_GE(word::closed, word::max_slots);
}

TEST(slot_word, a_free_word_has_its_marks_and_the_next_number) {
  for (const std::uint32_t number : {0u, 1u, 12345u, word::max_slots - 1, word::none})
    for (const std::uint32_t marks : {0u, word::raw_mark}) {
      const std::uint32_t value = word::free_mark | marks | number;
      EXPECT_TRUE(word::is_free(value));
      EXPECT_EQ(word::is_raw(value), marks != 0);
      EXPECT_EQ(word::number(value), number);
    }
}

TEST(slot_word, no_count_reads_as_free) {
  for (const std::uint32_t count : {1u, 2u, word::max_count}) EXPECT_FALSE(word::is_free(count));
}

TEST(slot_word, is_four_bytes) {
  EXPECT_EQ(sizeof(plain_slot_word), 4u);
  EXPECT_EQ(sizeof(shared_slot_word<>), 4u);
  EXPECT_TRUE(std::is_trivially_default_constructible_v<plain_slot_word>) << "raw memory is an array of them";
}

TYPED_TEST(slot_words, hold_what_is_stored) {
  TypeParam each = {};
  each.store(77);
  EXPECT_EQ(each.load(), 77u);
  EXPECT_EQ(each.exchange(78), 77u);
  EXPECT_EQ(each.load(), 78u);
}

TYPED_TEST(slot_words, the_last_release_is_recognised) {
  TypeParam each = {};
  each.store(1);
  each.retain();
  each.retain();
  EXPECT_EQ(each.load(), 3u);
  EXPECT_FALSE(each.release());
  EXPECT_FALSE(each.release());
  EXPECT_TRUE(each.release());
}

TYPED_TEST(slot_words, one_reference_too_many_ends_the_process) {
  TypeParam each = {};
  each.store(word::max_count - 1);
  each.retain();
  EXPECT_EQ(each.load(), word::max_count);
  ASHLAR_EXPECT_DEATH(each.retain(), "ashlar: precondition: counted more than 2^30 - 1 references to one object");
}

}  // namespace
