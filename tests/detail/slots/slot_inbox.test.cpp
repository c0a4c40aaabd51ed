// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the inbox of slots in one thread; tests/threads has those with many.
#include <ashlar/detail/slots/slot_inbox.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/slots/slot_word.hpp>

namespace {

namespace word = ashlar::detail::slot_word;
using ashlar::detail::shared_slot_word;
using ashlar::detail::slot_inbox;

using words = std::array<shared_slot_word<>, 64>;

std::vector<std::uint32_t> chain(const words& all, std::uint32_t first) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t at = first; at != word::none; at = word::number(all[at].load())) numbers.push_back(at);
  return numbers;
}

TEST(slot_inbox, a_new_one_is_empty_and_open) {
  slot_inbox<> inbox;
  EXPECT_TRUE(inbox.is_empty());
  EXPECT_FALSE(inbox.is_closed());
  EXPECT_EQ(inbox.take_all(), word::none);
}

TEST(slot_inbox, gives_all_the_latest_first_and_once) {
  slot_inbox<> inbox;
  words all;
  for (const std::uint32_t number : {5u, 0u, 63u}) EXPECT_TRUE(inbox.push(number, word::raw_mark, all[number]));
  EXPECT_FALSE(inbox.is_empty());
  EXPECT_EQ(chain(all, inbox.take_all()), (std::vector<std::uint32_t>{63, 0, 5}));
  EXPECT_TRUE(inbox.is_empty());
  EXPECT_EQ(inbox.take_all(), word::none);
}

TEST(slot_inbox, a_slot_knows_that_it_is_free_and_whether_raw) {
  slot_inbox<> inbox;
  words all;
  ASSERT_TRUE(inbox.push(1, word::raw_mark, all[1]));
  ASSERT_TRUE(inbox.push(2, 0, all[2]));
  EXPECT_TRUE(word::is_free(all[1].load()) && word::is_raw(all[1].load()));
  EXPECT_TRUE(word::is_free(all[2].load()) && !word::is_raw(all[2].load()));
}

TEST(slot_inbox, a_closed_one_gives_what_it_has_and_refuses_the_rest) {
  slot_inbox<> inbox;
  words all;
  all[9].store(7);
  ASSERT_TRUE(inbox.push(3, 0, all[3]));
  EXPECT_EQ(inbox.close(), 3u);
  EXPECT_TRUE(inbox.is_closed());
  EXPECT_FALSE(inbox.push(9, 0, all[9]));
  EXPECT_EQ(all[9].load(), 7u) << "a slot that is refused is left alone";
  EXPECT_EQ(inbox.take_all(), word::none);
  EXPECT_EQ(inbox.close(), word::none);
  EXPECT_TRUE(inbox.is_closed());
}

TEST(slot_inbox, does_as_a_vector_would) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    slot_inbox<> inbox;
    words all;
    std::vector<std::uint32_t> outside(all.size());
    for (std::uint32_t i = 0; i < outside.size(); ++i) outside[i] = i;
    std::vector<std::uint32_t> inside;  // the latest first
    for (int step = 0; step < 1000; ++step) {
      if (random() % 8 != 0 && !outside.empty()) {
        const auto at = outside.begin() + static_cast<std::ptrdiff_t>(random() % outside.size());
        ASSERT_TRUE(inbox.push(*at, 0, all[*at]));
        inside.insert(inside.begin(), *at);
        outside.erase(at);
      } else {
        ASSERT_EQ(chain(all, inbox.take_all()), inside);
        outside.insert(outside.end(), inside.begin(), inside.end());
        inside.clear();
      }
      ASSERT_EQ(inbox.is_empty(), inside.empty());
    }
  }
}

}  // namespace
