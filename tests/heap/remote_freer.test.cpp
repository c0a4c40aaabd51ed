// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of remote_freer: its limit, leaving, and an idle freer.
#include <ashlar/heap/remote_freer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment_words.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/remote_free/packet.hpp>
#include <ashlar/heap/owner_heap.hpp>

namespace {

using ashlar::owner_heap;
using ashlar::remote_freer;

constexpr bool sends = ashlar::checking_level < ashlar::checking::checked;

TEST(remote_freer, has_nothing_to_do_at_first) {
  remote_freer<> freer;
  freer.flush();
  freer.leave();
  EXPECT_EQ(freer.noted(), 0u);
  EXPECT_TRUE(freer.invariant());
}

TEST(remote_freer, keeps_at_most_the_documented_amount) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    freer.defer_free(heap, heap.allocate(48));
    if (i % 16 == 0) most = std::max(most, freer.noted() * 48);
  }
  EXPECT_LE(most, freer.most_held + 48);
  EXPECT_GE(most, freer.most_held - 17 * 48);
}

TEST(remote_freer, may_leave_before_its_owners_have_looked) {
  owner_heap<> heaps[3];
  std::vector<void*> blocks;
  for (int i = 0; i < 30'000; ++i) blocks.push_back(heaps[i % 3].allocate(32));
  std::vector<std::size_t> order(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (int part = 0; part < 3; ++part) {
    remote_freer<> freer;
    for (std::size_t i = static_cast<std::size_t>(part); i < order.size(); i += 3)
      freer.defer_free(heaps[order[i] % 3], blocks[order[i]]);
    if (part == 0) freer.leave();  // and goes on afterwards
    freer.defer_free(heaps[0], heaps[0].allocate(100));
  }
  for (owner_heap<>& each : heaps) {
    static_cast<void>(each.trim());
    EXPECT_EQ(each.held_bytes(), 0u);
    EXPECT_TRUE(each.invariant());
  }
}

TEST(remote_freer, is_quiet_once_nothing_was_freed_since_it_was_asked) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  freer.flush_if_quiet();
  for (int i = 0; i < 10; ++i) {
    freer.defer_free(heap, heap.allocate(48));
    freer.flush_if_quiet();
  }
  EXPECT_EQ(freer.noted(), 10u);
  freer.flush_if_quiet();
  EXPECT_EQ(freer.noted(), 0u);
}

// The atomics of the standard library, with a count of read-modify-writes.
struct counting_atomics {
  static inline std::size_t count = 0;

  template <class T>
  struct atomic : std::atomic<T> {
    using std::atomic<T>::atomic;
    T exchange(T value, std::memory_order order) noexcept { return ++count, std::atomic<T>::exchange(value, order); }
    bool compare_exchange_weak(T& expected, T value, std::memory_order success, std::memory_order failure) noexcept {
      return ++count, std::atomic<T>::compare_exchange_weak(expected, value, success, failure);
    }
  };
  template <class T>
  using plain = T;
};

// A freer over the shipped batcher while owners sleep: without a free packet it drains the inboxes of all packets in
// transit, under one lock for each owner. Returns: frees for each read-modify-write.
template <std::size_t Owners>
double frees_for_an_atomic(bool in_order) {
  using counted = ashlar::detail::batcher<counting_atomics>;
  constexpr std::size_t frees = 30'000;
  std::array<owner_heap<>, Owners> heaps;
  std::array<counted::inbox_type, Owners> inboxes;
  std::vector<void*> cells;
  std::mt19937 random(7);
  for (std::size_t i = 0; i < frees; ++i) cells.push_back(heaps[i % Owners].allocate(16 + random() % 241));
  if (!in_order) std::shuffle(cells.begin(), cells.end(), random);
  const auto owner_of = [&](std::uintptr_t key) {
    return static_cast<std::size_t>(owner_heap<>::of(&ashlar::detail::segment_of_key(key).head) - heaps.data());
  };
  const auto route = [&](std::uintptr_t key) -> counted::inbox_type& { return inboxes[owner_of(key)]; };
  const auto drain_inbox = [&](counted::inbox_type& from) {
    ++counting_atomics::count;  // for the lock
    ashlar::detail::drain(from,
                          [&](const ashlar::detail::freed_word& word) { heaps[owner_of(word.key)].take_back(word); });
  };
  counting_atomics::count = 0;
  counted batch(remote_freer<>::most_held);
  for (void* const cell : cells) {
    const ashlar::detail::freed_word place = ashlar::detail::word_of_cell(cell);
    const std::size_t bytes = heaps[0].usable_size(cell);
    if (batch.add(place.key, place.cells, route, bytes) == ashlar::detail::batch_result::noted) continue;
    batch.for_each_under_way(drain_inbox);
    static_cast<void>(batch.flush(route));
    EXPECT_EQ(batch.add(place.key, place.cells, route, bytes), ashlar::detail::batch_result::noted);
  }
  if (!batch.flush(route)) {  // all packets are in transit, depending on the addresses
    batch.for_each_under_way(drain_inbox);
    EXPECT_TRUE(batch.flush(route));
  }
  const double ratio = static_cast<double>(frees) / static_cast<double>(counting_atomics::count);
  batch.for_each_under_way(drain_inbox);
  for (owner_heap<>& each : heaps) EXPECT_EQ((each.flush_caches(), each.trim(), each.held_bytes()), 0u);
  return ratio;
}

TEST(remote_freer, frees_many_cells_for_one_atomic_while_owners_sleep) {
  if (!sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  EXPECT_GE(frees_for_an_atomic<1>(true), 100);
  EXPECT_GE(frees_for_an_atomic<1>(false), 32);
  EXPECT_GE(frees_for_an_atomic<3>(true), 32);
  EXPECT_GE(frees_for_an_atomic<3>(false), 20) << "few words meet, and packets are few";
}

}  // namespace
