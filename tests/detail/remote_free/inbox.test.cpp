// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the inbox alone and among threads, with an oracle in every node.
#include <ashlar/detail/remote_free/inbox.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace {

struct node {
  node* next = nullptr;
  std::uint32_t producer = 0;
  std::uint32_t sequence = 0;
  std::uint32_t complement = 0;
};

using inbox = ashlar::detail::inbox<node>;

static_assert(sizeof(inbox) == sizeof(void*));
static_assert(!std::is_copy_constructible_v<inbox> && !std::is_copy_assignable_v<inbox>);

[[maybe_unused]] constinit inbox before_main;

std::vector<node*> chain_of(node* first) {
  std::vector<node*> all;
  for (; first != nullptr; first = first->next) all.push_back(first);
  return all;
}

TEST(inbox, ignores_what_a_link_held_in_an_earlier_life) {
  inbox in;
  node stray, first, second;
  first.next = second.next = &stray;
  ASSERT_TRUE(in.push(&first));
  ASSERT_TRUE(in.push(&second));
  EXPECT_EQ(chain_of(in.take_all()), (std::vector<node*>{&second, &first}));
}

// Producers send numbered nodes; the owner sends each back through its producer's own inbox, to be sent again.
class traffic {
public:
  static constexpr std::uint32_t producers = 3;
  static constexpr std::uint32_t messages = 30000;  // for each producer
  static constexpr std::size_t nodes = 32;          // for each producer

  void produce(std::uint32_t who) {
    node* mine = nullptr;
    for (node& n : nodes_[who]) n.next = mine, mine = &n;
    for (std::uint32_t sequence = 0; sequence < messages;) {
      if (mine == nullptr) mine = back_[who].take_all();
      if (mine == nullptr) {
        std::this_thread::yield();
        continue;
      }
      node* const sent = mine;
      mine = mine->next;
      sent->producer = who;
      sent->sequence = sequence;
      sent->complement = ~sequence;
      ASSERT_TRUE(to_owner_.push(sent));
      ++sequence;
    }
  }

  /// Takes until every message has arrived.
  void own() {
    for (std::size_t received = 0; received < std::size_t{producers} * messages;) {
      node* chain = to_owner_.take_all();
      if (chain == nullptr) std::this_thread::yield();
      while (chain != nullptr) {
        node* const taken = chain;
        chain = chain->next;
        receive(*taken);
        ++received;
      }
    }
  }

  [[nodiscard]] bool was_each_seen_once() const {
    for (const std::vector<unsigned>& of_producer : seen_)
      for (const unsigned times : of_producer)
        if (times != 1) return false;
    return to_owner_.is_empty();
  }

private:
  void receive(node& taken) {
    ASSERT_LT(taken.producer, producers);
    ASSERT_LT(taken.sequence, messages);
    ASSERT_EQ(taken.complement, ~taken.sequence);
    ++seen_[taken.producer][taken.sequence];
    taken.complement = taken.sequence;  // the owner's own use of it
    ASSERT_TRUE(back_[taken.producer].push(&taken));
  }

  inbox to_owner_;
  std::array<inbox, producers> back_;
  std::array<std::array<node, nodes>, producers> nodes_;
  std::array<std::vector<unsigned>, producers> seen_ = {
      std::vector<unsigned>(messages), std::vector<unsigned>(messages), std::vector<unsigned>(messages)};
};

TEST(inbox, loses_and_doubles_nothing_among_threads) {
  const auto all = std::make_unique<traffic>();
  std::vector<std::thread> threads;
  for (std::uint32_t who = 0; who < traffic::producers; ++who) threads.emplace_back([&, who] { all->produce(who); });
  all->own();
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(all->was_each_seen_once());
}

TEST(inbox, gives_or_refuses_each_node_when_closed_among_pushes) {
  constexpr std::size_t producers = 3;
  constexpr std::size_t nodes = 64;
  for (int round = 0; round < 200; ++round) {
    inbox in;
    std::array<std::array<node, nodes>, producers> all;
    std::array<std::size_t, producers> refused = {};
    std::atomic<bool> is_started = false;
    std::vector<std::thread> threads;
    for (std::size_t who = 0; who < producers; ++who) {
      threads.emplace_back([&, who] {
        is_started.store(true, std::memory_order_relaxed);
        for (node& n : all[who]) refused[who] += in.push(&n) ? 0u : 1u;
      });
    }
    while (!is_started.load(std::memory_order_relaxed)) std::this_thread::yield();
    std::size_t taken = chain_of(in.take_all()).size();
    taken += chain_of(in.close()).size();
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(taken + refused[0] + refused[1] + refused[2], producers * nodes);
  }
}

}  // namespace
