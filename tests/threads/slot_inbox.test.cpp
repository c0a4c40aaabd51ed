// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many threads give slots back while one takes them: each arrives once, with all earlier writes to it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/slots/slot_inbox.hpp>
#include <ashlar/detail/slots/slot_word.hpp>

#include "tests/support/stress.hpp"

namespace {

namespace word = ashlar::detail::slot_word;

constexpr std::uint32_t givers = 4;

struct slots {
  explicit slots(std::uint32_t count) : words(count), content(count) {}
  std::vector<ashlar::detail::shared_slot_word<>> words;
  std::vector<std::uint32_t> content;  // plain: a race here would be a fault of the inbox
  ashlar::detail::slot_inbox<> inbox;

  // Returns: the number of arrived slots; each must hold the value of its giver.
  std::uint32_t take(std::uint32_t first) {
    std::uint32_t arrived = 0;
    for (; first != word::none; ++arrived) {
      EXPECT_EQ(content[first], first + 1);
      EXPECT_EQ(word::is_raw(words[first].load()), first % 2 == 0);
      content[first] = 0;
      first = word::number(words[first].load());
    }
    return arrived;
  }
};

void give(slots& all, std::uint32_t from, std::atomic<std::uint32_t>& refused) {
  for (auto number = from; number < all.words.size(); number += givers) {
    all.content[number] = number + 1;
    if (!all.inbox.push(number, number % 2 == 0 ? word::raw_mark : 0, all.words[number])) {
      all.content[number] = 0;
      refused.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

TEST(slot_inbox_threads, every_slot_arrives_once_with_its_contents) {
  const auto count = static_cast<std::uint32_t>(ashlar_test::stress_rounds(200'000));
  slots all(count);
  std::atomic<std::uint32_t> refused = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t who = 0; who < givers; ++who) threads.emplace_back([&, who] { give(all, who, refused); });
  std::uint32_t arrived = 0;
  while (arrived < count) arrived += all.take(all.inbox.take_all());
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(refused, 0u);
  EXPECT_TRUE(all.inbox.is_empty());
}

TEST(slot_inbox_threads, a_close_in_the_middle_loses_nothing) {
  for (std::size_t round = 0; round < ashlar_test::stress_rounds(100); ++round) {
    slots all(400);
    std::atomic<std::uint32_t> refused = 0;
    std::vector<std::thread> threads;
    for (std::uint32_t who = 0; who < givers; ++who) threads.emplace_back([&, who] { give(all, who, refused); });
    std::uint32_t arrived = all.take(all.inbox.take_all());
    if (round % 2 == 0) std::this_thread::yield();
    arrived += all.take(all.inbox.close());
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(arrived + refused, 400u);
  }
}

}  // namespace
