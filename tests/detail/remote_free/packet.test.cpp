// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests a packet on its way to a taker and back, alone and between two threads.
#include <ashlar/detail/remote_free/packet.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/remote_free/inbox.hpp>
#include <ashlar/detail/support/atomics.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::default_atomics;
using ashlar::detail::freed_word;

using packet = ashlar::detail::packet<>;
using small_packet = ashlar::detail::packet<default_atomics, 3>;

static_assert(alignof(packet) == 64 && sizeof(packet) % 64 == 0 && sizeof(packet) <= 1024, "whole lines");
static_assert(packet::max_words == 63 && small_packet::max_words == 3);
static_assert(std::is_trivially_destructible_v<packet>, "a thread may end while it is under way");

// The steps of a sender.
template <class Packet>
void send(Packet& p, ashlar::detail::inbox<Packet>& to) {
  p.under_way.store(1, ashlar::detail::memory_order_relaxed);
  ASSERT_TRUE(to.push(&p));
}

template <class Packet>
std::vector<std::uintptr_t> keys_drained(ashlar::detail::inbox<Packet>& from) {
  std::vector<std::uintptr_t> keys;
  ashlar::detail::drain(from, [&](const freed_word& word) { keys.push_back(word.key); });
  return keys;
}

TEST(packet, starts_blank_and_at_its_sender) {
  const packet p;
  EXPECT_TRUE(p.is_back());
  EXPECT_FALSE(p.is_full());
  EXPECT_EQ(p.count, 0u);
}

TEST(packet, is_full_with_its_last_word) {
  small_packet p;
  for (std::uintptr_t key = 1; key <= 3; ++key) {
    EXPECT_FALSE(p.is_full());
    p.add({key, 1});
  }
  EXPECT_TRUE(p.is_full());
  EXPECT_EQ(p.words[2].key, 3u);
}

TEST(packet, drain_gives_each_word_once_and_the_packet_back) {
  ashlar::detail::inbox<small_packet> in;
  small_packet p;
  p.add({10, 0b101});
  p.add({20, 0b010});
  send(p, in);
  EXPECT_FALSE(p.is_back());
  std::vector<freed_word> words;
  ashlar::detail::drain(in, [&](const freed_word& word) { words.push_back(word); });
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].cells | words[1].cells, 0b111u);
  EXPECT_TRUE(p.is_back());
  EXPECT_TRUE(keys_drained(in).empty());
}

TEST(packet, stays_under_way_until_all_of_it_is_read) {
  ashlar::detail::inbox<small_packet> in;
  small_packet p;
  p.add({10, 1});
  p.add({20, 1});
  send(p, in);
  ashlar::detail::drain(in, [&](const freed_word&) { EXPECT_FALSE(p.is_back()); });
  EXPECT_TRUE(p.is_back());
}

TEST(packet, drain_takes_all_packets) {
  ashlar::detail::inbox<small_packet> in;
  std::array<small_packet, 4> packets;
  for (std::uintptr_t i = 0; i < packets.size(); ++i) {
    packets[i].add({i, 1});
    send(packets[i], in);
  }
  EXPECT_EQ(keys_drained(in), (std::vector<std::uintptr_t>{3, 2, 1, 0}));
  for (const small_packet& p : packets) EXPECT_TRUE(p.is_back());
}

TEST(packet, drain_of_an_empty_inbox_does_nothing) {
  ashlar::detail::inbox<packet> in;
  EXPECT_TRUE(keys_drained(in).empty());
  EXPECT_FALSE(in.is_closed());
}

TEST(packet, an_empty_packet_comes_back_too) {
  ashlar::detail::inbox<packet> in;
  packet p;
  send(p, in);
  EXPECT_TRUE(keys_drained(in).empty());
  EXPECT_TRUE(p.is_back());
}

// The taker overwrites a packet once it is back with its sender; a word that is read twice, late or torn is detected.
TEST(packet, goes_round_between_two_threads_and_carries_each_word_once) {
  constexpr std::uint32_t messages = ashlar_test::cases_of_build(15'000, 50'000);
  ashlar::detail::inbox<small_packet> in;
  std::array<small_packet, 2> packets;
  std::vector<unsigned char> seen(messages);
  std::thread sender([&] {
    std::uint32_t sequence = 0;
    for (std::size_t turn = 0; sequence != messages; turn = (turn + 1) % packets.size()) {
      small_packet& p = packets[turn];
      if (!p.is_back()) {
        std::this_thread::yield();
        continue;
      }
      p.count = 0;
      for (; sequence != messages && !p.is_full(); ++sequence) p.add({sequence, ~std::uint64_t{sequence}});
      send(p, in);
    }
  });
  for (std::uint32_t received = 0; received != messages;) {
    if (in.is_empty()) std::this_thread::yield();
    ashlar::detail::drain(in, [&](const freed_word& word) {
      ASSERT_EQ(word.cells, ~std::uint64_t{word.key});
      ++seen[word.key];
      ++received;
    });
  }
  sender.join();
  for (const unsigned char times : seen) ASSERT_EQ(times, 1);
  for (const small_packet& p : packets) EXPECT_TRUE(p.is_back());
}

}  // namespace
