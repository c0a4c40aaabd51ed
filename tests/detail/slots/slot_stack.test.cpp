// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the stack of free slots: order, marks, and a random walk beside a vector.
#include <ashlar/detail/slots/slot_stack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/slots/slot_word.hpp>

namespace {

namespace word = ashlar::detail::slot_word;
using ashlar::detail::plain_slot_word;
using ashlar::detail::slot_stack;
using ashlar::detail::taken_slot;

constexpr std::uint32_t unwritten = 0xCDCDCDCD;

// A stack with its words, so that a test need not pass them each time.
struct slots_of {
  explicit slots_of(std::uint32_t count) : words(count), capacity(count) {
    for (plain_slot_word& each : words) each.store(unwritten);
  }

  [[nodiscard]] auto at() {
    return [this](std::uint32_t number) -> plain_slot_word& { return words[number]; };
  }
  taken_slot take() { return stack.take(capacity, at()); }
  void give(std::uint32_t number, std::uint32_t marks = word::raw_mark) { stack.give(number, marks, at()); }
  [[nodiscard]] bool invariant(bool has_unmarked = false) { return stack.invariant(capacity, at(), has_unmarked); }
  [[nodiscard]] std::vector<std::uint32_t> taken() {
    std::vector<std::uint32_t> numbers;
    stack.for_each_taken(at(), [&](std::uint32_t number) { numbers.push_back(number); });
    return numbers;
  }

  std::vector<plain_slot_word> words;
  std::uint32_t capacity;
  slot_stack stack;
};

TEST(slot_stack, a_new_one_is_empty_and_has_touched_nothing) {
  slots_of slots(4);
  EXPECT_TRUE(slots.stack.empty());
  EXPECT_EQ(slots.stack.used(), 0u);
  EXPECT_TRUE(slots.invariant());
  EXPECT_EQ(slots.words[0].load(), unwritten);
}

TEST(slot_stack, hands_out_the_unused_in_order_and_then_none) {
  slots_of slots(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const taken_slot got = slots.take();
    EXPECT_EQ(got.number, i);
    EXPECT_TRUE(got.is_raw);
    EXPECT_EQ(slots.words[i].load(), 1u);
  }
  for (int again = 0; again < 3; ++again) EXPECT_EQ(slots.take().number, word::none);
  EXPECT_TRUE(slots.invariant());
}

TEST(slot_stack, words_of_the_unused_are_never_written) {
  slots_of slots(100);
  for (int i = 0; i < 50; ++i) slots.give(slots.take().number);
  EXPECT_EQ(slots.stack.used(), 1u);
  EXPECT_EQ(slots.words[1].load(), unwritten);
}

TEST(slot_stack, the_last_given_is_taken_first) {
  slots_of slots(4);
  for (int i = 0; i < 4; ++i) static_cast<void>(slots.take());
  for (const std::uint32_t number : {2u, 0u, 3u}) slots.give(number);
  for (const std::uint32_t number : {3u, 0u, 2u}) EXPECT_EQ(slots.take().number, number);
  EXPECT_EQ(slots.take().number, word::none);
}

TEST(slot_stack, a_slot_remembers_whether_it_is_raw) {
  slots_of slots(2);
  static_cast<void>(slots.take());
  static_cast<void>(slots.take());
  slots.give(0, 0);
  slots.give(1, word::raw_mark);
  EXPECT_TRUE(slots.take().is_raw);
  EXPECT_FALSE(slots.take().is_raw);
}

TEST(slot_stack, of_no_slots_has_none) {
  slots_of slots(0);
  EXPECT_EQ(slots.take().number, word::none);
  EXPECT_TRUE(slots.invariant());
}

TEST(slot_stack, adopts_a_chain) {
  slots_of slots(5);
  for (int i = 0; i < 5; ++i) static_cast<void>(slots.take());
  slots.words[4].store(word::free_mark | word::raw_mark | 1);
  slots.words[1].store(word::free_mark | word::none);
  slots.stack.adopt(4);
  EXPECT_TRUE(slots.invariant());
  EXPECT_EQ(slots.take().number, 4u);
  const taken_slot kept = slots.take();
  EXPECT_EQ(kept.number, 1u);
  EXPECT_FALSE(kept.is_raw);
  EXPECT_TRUE(slots.stack.empty());
}

TEST(slot_stack, unmarked_slots_are_marked_on_demand) {
  slots_of slots(6);
  for (int i = 0; i < 6; ++i) static_cast<void>(slots.take());
  for (const std::uint32_t number : {1u, 3u, 4u}) slots.give(number);
  EXPECT_EQ(slots.stack.pop_unmarked(slots.at()).number, 4u);
  EXPECT_EQ(slots.stack.pop_unmarked(slots.at()).number, 3u);
  EXPECT_EQ(slots.taken(), (std::vector<std::uint32_t>{0, 2, 5})) << "not yet";
  EXPECT_TRUE(slots.invariant(true));
  EXPECT_FALSE(slots.invariant());
  slots.stack.mark_taken(slots.at());
  EXPECT_EQ(slots.taken(), (std::vector<std::uint32_t>{0, 2, 3, 4, 5}));
  EXPECT_TRUE(slots.invariant());
  EXPECT_EQ(slots.take().number, 1u);
}

TEST(slot_stack, the_invariant_sees_a_cycle_and_a_slot_that_is_lost) {
  slots_of slots(4);
  for (int i = 0; i < 4; ++i) static_cast<void>(slots.take());
  slots.give(0);
  slots.give(1);
  EXPECT_TRUE(slots.invariant());
  slots.words[0].store(word::free_mark | 1);  // 1 -> 0 -> 1
  EXPECT_FALSE(slots.invariant());
  slots.words[0].store(word::free_mark | word::none);
  slots.words[2].store(word::free_mark | word::none);  // free, and on no stack
  EXPECT_FALSE(slots.invariant());
  slots.words[2].store(1);
  slots.words[1].store(1);  // on the stack, and taken
  EXPECT_FALSE(slots.invariant());
}

TEST(slot_stack, the_number_limit_is_never_handed_out) {
  slot_stack stack;
  plain_slot_word only = {};
  const auto any = [&](std::uint32_t) -> plain_slot_word& { return only; };
  EXPECT_EQ(stack.take(word::max_slots, any).number, 0u);
  only.store(1);
  stack.give(word::max_slots - 1, 0, any);  // the highest number
  EXPECT_EQ(stack.pop(any).number, word::max_slots - 1);
  EXPECT_TRUE(stack.empty());
}

// The oracle: the free slots as a vector, the top at its end.
class walk {
public:
  walk(std::uint32_t capacity, unsigned seed, bool marked) : slots_(capacity), random_(seed), marked_(marked) {}

  void step() {
    if (random_() % 2 == 0) take();
    else if (!taken_.empty()) give(static_cast<std::uint32_t>(random_() % taken_.size()));
    ASSERT_TRUE(slots_.invariant(!marked_));
    ASSERT_EQ(slots_.stack.empty(), free_.empty());
    if (random_() % 16 == 0) compare_taken();
  }

private:
  void take() {
    const bool unmarked = !marked_ && !slots_.stack.empty();
    const taken_slot got = unmarked ? slots_.stack.pop_unmarked(slots_.at()) : slots_.take();
    if (!free_.empty()) {
      ASSERT_EQ(got.number, free_.back().number);
      ASSERT_EQ(got.is_raw, free_.back().is_raw);
      free_.pop_back();
    } else {
      ASSERT_EQ(got.number, used_ < slots_.capacity ? used_++ : word::none);
    }
    if (got.number != word::none) taken_.push_back(got.number);
  }

  void give(std::uint32_t index) {
    const bool raw = !marked_ || random_() % 2 == 0;
    slots_.give(taken_[index], raw ? word::raw_mark : 0);
    free_.push_back({taken_[index], raw});
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void compare_taken() {
    if (!marked_) slots_.stack.mark_taken(slots_.at());
    std::vector<std::uint32_t> expected = taken_;
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(slots_.taken(), expected);
  }

  slots_of slots_;
  std::mt19937 random_;
  bool marked_;
  std::uint32_t used_ = 0;
  std::vector<taken_slot> free_;
  std::vector<std::uint32_t> taken_;
};

TEST(slot_stack, does_as_a_vector_would) {
  for (const bool marked : {true, false})
    for (unsigned seed = 0; seed < 20; ++seed) {
      walk each(1 + seed * 3, seed, marked);
      for (int step = 0; step < 500 && !::testing::Test::HasFailure(); ++step) each.step();
    }
}

}  // namespace
