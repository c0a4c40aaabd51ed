// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests a packet on its way to a taker and back, alone and between two threads.
#include <ashlar/detail/remote_free/packet.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
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

TEST(packet, stays_under_way_until_all_of_it_is_read) {
  ashlar::detail::inbox<small_packet> in;
  small_packet p;
  p.add({10, 1});
  p.add({20, 1});
  send(p, in);
  ashlar::detail::drain(in, [&](const freed_word&) { EXPECT_FALSE(p.is_back()); });
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
