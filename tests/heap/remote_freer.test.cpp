// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of remote_freer: its limits, its end, and an idle freer.
#include <ashlar/heap/remote_freer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/parcel_sender.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::owner_heap;
using ashlar::remote_freer;

constexpr bool sends = ashlar::checking_level < ashlar::checking::checked;

TEST(remote_freer, has_nothing_to_do_at_first) {
  remote_freer<> freer;
  freer.flush();
  EXPECT_EQ(freer.noted(), 0u);
  EXPECT_TRUE(freer.invariant());
}

TEST(remote_freer, takes_null_for_nothing) {
  ashlar::owner_heap<> owner;
  ashlar::remote_freer<> freer;
  freer.defer_free(owner, nullptr);
  freer.defer_free(owner, owner.allocate(40));
  freer.defer_free(owner, nullptr);
}

TEST(remote_freer, keeps_at_most_the_documented_amount) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  using engine = ashlar::detail::owner_engine<ashlar::page_resource>;
  std::vector<std::unique_ptr<engine>> heaps;  // as thread heaps, whose numbers leave a place for each of 32
  for (std::uint32_t i = 0; i < 32; ++i) heaps.push_back(std::make_unique<engine>(ashlar::heap_options{}));
  for (std::uint32_t i = 0; i < 32; ++i) heaps[i]->set_number(i);
  ashlar::detail::parcel_sender<ashlar::page_resource> freer;
  std::size_t most = 0;
  for (std::size_t i = 0; i < 200'000; ++i) {
    engine& of = *heaps[i % heaps.size()];
    freer.defer_free(of, of.allocate(1000));
    most = std::max(most, freer.noted() * 1024);
  }
  EXPECT_LE(most, freer.most_held + 32 * 16 * 1024);
  EXPECT_GE(most, freer.most_held / 2);
}

TEST(remote_freer, gathers_large_cells_of_many_owners) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  using engine = ashlar::detail::owner_engine<ashlar::page_resource>;
  std::vector<std::unique_ptr<engine>> heaps;
  for (std::uint32_t i = 0; i < 20; ++i) heaps.push_back(std::make_unique<engine>(ashlar::heap_options{}));
  for (std::uint32_t i = 0; i < 20; ++i) heaps[i]->set_number(i);
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{2000}}) {
    ashlar::detail::parcel_sender<ashlar::page_resource> freer;
    std::size_t most = 0;
    for (std::size_t i = 0; i < 2000; ++i) {
      engine& of = *heaps[i % heaps.size()];
      freer.defer_free(of, of.allocate(bytes));
      most = std::max(most, freer.noted());
    }
    EXPECT_GE(most, 100u) << "places that carriers have left do not count";
  }
}

TEST(remote_freer, may_end_before_its_owners_have_looked) {
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
    if (part == 0) freer.flush();  // and goes on afterwards
    freer.defer_free(heaps[0], heaps[0].allocate(100));
  }
  for (owner_heap<>& each : heaps) {
    static_cast<void>(each.trim());
    EXPECT_EQ(each.held_bytes(), 0u);
    EXPECT_TRUE(each.invariant());
  }
}

TEST(remote_freer, is_quiet_once_little_was_freed_since_it_was_asked_four_times) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  freer.flush_if_quiet();
  std::size_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    freer.defer_free(heap, heap.allocate(480));
    if (i % 20 == 0) freer.flush_if_quiet();
    most = std::max(most, freer.noted());
  }
  EXPECT_GE(most, 30u) << "an active freer fills its parcels";
  freer.defer_free(heap, heap.allocate(480));
  freer.flush_if_quiet();
  EXPECT_NE(freer.noted(), 0u);
  for (int i = 0; i < 4; ++i) freer.flush_if_quiet();
  EXPECT_EQ(freer.noted(), 0u);
}

TEST(remote_freer, sends_a_parcel_for_each_64_cells_and_none_for_large_blocks) {
  if (!sends) GTEST_SKIP() << "nothing is sent where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  std::vector<void*> cells;
  for (int i = 0; i < 1000; ++i) cells.push_back(heap.allocate(static_cast<std::size_t>(16 + i % 200)));
  for (void* const cell : cells) {
    freer.defer_free(heap, cell);
    EXPECT_LT(freer.noted(), 64u + 15u);
  }
  freer.flush();
  for (const std::size_t bytes : {std::size_t{40'000}, std::size_t{100'000}, std::size_t{5} << 20}) {
    freer.defer_free(heap, heap.allocate(bytes));
    EXPECT_EQ(freer.noted(), 0u);
  }
  freer.defer_free(heap, nullptr);
  EXPECT_TRUE(freer.invariant());
}

TEST(remote_freer, counts_large_cells_by_their_bytes) {
  if (!sends) GTEST_SKIP() << "nothing is kept back where frees are checked";
  owner_heap<> heap;
  remote_freer<> freer;
  for (int i = 0; i < 200; ++i) {
    freer.defer_free(heap, heap.allocate(64));
    freer.defer_free(heap, heap.allocate(i % 2 == 0 ? 5000 : 32'000));
    EXPECT_LE(freer.noted(), 8u);
  }
  freer.flush();
  static_cast<void>(heap.trim());
  EXPECT_EQ(heap.held_bytes(), 0u);
}

// Each third cell is a carrier that lists the two after it, which are as large as listed ones can be.
TEST(remote_freer, counts_what_waits_for_an_owner_whatever_carries_it) {
  if (!sends) GTEST_SKIP() << "nothing waits where frees are checked";
  constexpr std::size_t most = std::size_t{4} << 20;
  ashlar::detail::owner_engine<ashlar::page_resource> heap({.retain_bytes = most, .decay_ms = 1u << 30});
  std::vector<void*> cells;
  std::size_t bytes = 0;
  while (bytes < 8 * most)
    for (const std::size_t size : {std::size_t{32}, std::size_t{1000}, std::size_t{1000}}) {
      cells.push_back(heap.allocate(size));
      bytes += heap.usable_size(cells.back());
    }
  const std::size_t before = heap.locked()->free_bytes();
  ashlar::detail::parcel_sender<ashlar::page_resource> freer;
  for (void* const cell : cells) freer.defer_free(heap, cell);
  freer.flush();
  EXPECT_TRUE(freer.invariant());
  const std::size_t drained = heap.locked()->free_bytes() - before, waiting = bytes - drained;
  EXPECT_LE(waiting, most + most / 4);
  EXPECT_GE(waiting, most / 2);
}

}  // namespace
