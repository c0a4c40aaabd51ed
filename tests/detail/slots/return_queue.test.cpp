// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that exactly one caller is told to free the memory, whenever the last slot returns.
#include <ashlar/detail/slots/return_queue.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/stress.hpp"

namespace {

using ashlar::detail::return_queue;
namespace slot_word = ashlar::detail::slot_word;

struct world {
  std::array<ashlar::detail::shared_slot_word<>, 8> words;
  return_queue<> home;

  world() {
    for (auto& word : words) word.store(1);
  }
  bool give(std::uint32_t number) { return home.give(number, slot_word::raw_mark, words[number]); }
  [[nodiscard]] std::vector<std::uint32_t> numbers_in(std::uint32_t chain) const {
    std::vector<std::uint32_t> numbers;
    for (; chain != slot_word::none; chain = slot_word::number(words[chain].load())) numbers.push_back(chain);
    return numbers;
  }
};

TEST(return_queue, brings_slots_in_one_chain_the_latest_first) {
  world w;
  EXPECT_FALSE(w.give(3));
  EXPECT_FALSE(w.give(5));
  EXPECT_EQ(w.numbers_in(w.home.take_all()), (std::vector<std::uint32_t>{5, 3}));
  EXPECT_EQ(w.home.take_all(), slot_word::none);
  EXPECT_TRUE(slot_word::is_free(w.words[3].load()));
}

TEST(return_queue, the_handle_frees_where_nothing_is_out) {
  world w;
  EXPECT_FALSE(w.give(0));
  EXPECT_EQ(w.numbers_in(w.home.close()), (std::vector<std::uint32_t>{0}));
  EXPECT_TRUE(w.home.abandon(0));
}

TEST(return_queue, the_last_to_come_late_frees) {
  world w;
  EXPECT_EQ(w.home.close(), slot_word::none);
  EXPECT_FALSE(w.home.abandon(3));
  EXPECT_FALSE(w.give(0));
  EXPECT_FALSE(w.give(1));
  EXPECT_TRUE(w.give(2));
}

TEST(return_queue, the_handle_frees_where_all_come_between_close_and_abandon) {
  world w;
  static_cast<void>(w.home.close());
  EXPECT_FALSE(w.give(0));
  EXPECT_FALSE(w.give(1));
  EXPECT_TRUE(w.home.abandon(2));
}

TEST(return_queue, slots_come_before_between_and_after) {
  world w;
  EXPECT_FALSE(w.give(0));
  EXPECT_EQ(w.numbers_in(w.home.close()).size(), 1u);
  EXPECT_FALSE(w.give(1));
  EXPECT_FALSE(w.home.abandon(2));
  EXPECT_TRUE(w.give(2));
}

// Four threads give two slots each while the handle ends.
TEST(return_queue, exactly_one_frees_for_any_order) {
  constexpr std::uint32_t slots = 8;
  const std::size_t rounds = ashlar_test::stress_rounds(2'000);
  for (std::size_t round = 0; round < rounds; ++round) {
    world w;
    std::atomic<int> frees = 0;
    std::vector<std::thread> threads;
    for (std::uint32_t who = 0; who < 4; ++who)
      threads.emplace_back([&, who] {
        for (const std::uint32_t number : {who * 2, who * 2 + 1}) frees += w.give(number) ? 1 : 0;
      });
    const auto in_time = static_cast<std::uint32_t>(w.numbers_in(w.home.close()).size());
    frees += w.home.abandon(slots - in_time) ? 1 : 0;
    for (std::thread& each : threads) each.join();
    ASSERT_EQ(frees.load(), 1);
  }
}

}  // namespace
