// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of calls of other threads, which bypass the thread cache of the owner.
#include <ashlar/detail/heap/sharing.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"

namespace {

using engine = ashlar::detail::owner_engine<ashlar::page_resource>;
using ashlar::detail::frees_travel;

constexpr std::size_t bytes = 2048;  // the batches of larger cells are open to other threads

void* take(engine& from) { return from.try_allocate(bytes); }

TEST(sharing, names_the_owner_in_its_segments) {
  engine owner({.retain_bytes = 0});
  void* const cell = take(owner);
  EXPECT_EQ(&engine::of(cell), &owner);
  owner.give_now(cell);
  EXPECT_TRUE(owner.invariant());
}

// Effects: sends cells of one class in one parcel.
void send(engine& to, const std::vector<void*>& cells, std::size_t cell_bytes) {
  ashlar::detail::open_parcel<> open;
  for (void* const cell : cells) {
    ashlar::detail::mark_free(cell, cell_bytes);
    if (!open.try_add(cell)) open.begin_carrier(cell, cell_bytes);
  }
  to.receive(open.close(), cells.size() * cell_bytes);
}

TEST(sharing, drains_a_parcel_in_calls_of_other_threads) {
  if (!frees_travel) GTEST_SKIP() << "nothing is sent where frees are checked";
  engine owner({});
  for (int round = 0; round < 2; ++round) {
    send(owner, {take(owner)}, bytes);
    EXPECT_TRUE(owner.has_arrivals());
    if (round == 0) owner.drain_inbox();
    else static_cast<void>(owner.trim_remote());
    EXPECT_FALSE(owner.has_arrivals());
  }
  EXPECT_NE(owner.trim_remote() + 1, 0u);
  EXPECT_EQ(owner.held_bytes(), 0u);
}

TEST(sharing, hands_out_what_has_arrived_before_anything_else) {
  if (!frees_travel) GTEST_SKIP() << "nothing is sent where frees are checked";
  engine owner({});
  std::vector<void*> cells;
  for (int i = 0; i < 500; ++i) cells.push_back(owner.allocate(96));
  std::vector<void*> cached;  // so that no cell is left on the free list
  const auto has_none = [&](std::size_t) -> void* { return nullptr; };
  while (void* const cell = owner.take_or(96, [&] { return has_none(96); })) cached.push_back(cell);
  send(owner, cells, 96);
  std::vector<void*> again;
  for (int i = 0; i < 500; ++i) again.push_back(owner.allocate(96));
  EXPECT_FALSE(owner.has_arrivals());
  std::sort(cells.begin(), cells.end());
  std::sort(again.begin(), again.end());
  EXPECT_EQ(again, cells);
  EXPECT_TRUE(owner.invariant());
}

TEST(sharing, takes_a_parcel_back_at_once_where_much_waits) {
  if (!frees_travel) GTEST_SKIP() << "nothing is sent where frees are checked";
  engine owner({.retain_bytes = 0});
  send(owner, {owner.allocate(512)}, 512);  // of a heap that retains nothing
  EXPECT_FALSE(owner.has_arrivals());
}

TEST(sharing, leaves_cached_cells_to_their_owner) {
  if (!frees_travel) GTEST_SKIP() << "each call has the lock, and may look into the cache";
  engine owner({.retain_bytes = 0});
  void* const cell = take(owner);
  owner.deallocate(cell);
  static_cast<void>(owner.trim_remote());
  EXPECT_NE(owner.held_bytes(), 0u);
  EXPECT_EQ(take(owner), cell);
  owner.give_now(cell);
  static_cast<void>(owner.trim_remote());
  EXPECT_EQ(owner.held_bytes(), 0u);
}

TEST(sharing, includes_cached_cells_once_their_owner_has_left) {
  if (ashlar_test::is_hardened) GTEST_SKIP() << "nothing is cached there";
  engine owner({.retain_bytes = 0});
  for (int round = 0; round < 2; ++round) {
    owner.deallocate(take(owner));
    EXPECT_FALSE(owner.try_give_segment()) << "a cached cell keeps it";
    owner.sharing().set_left(true);
    EXPECT_TRUE(owner.try_give_segment());
    EXPECT_EQ(owner.held_bytes(), 0u);
    owner.sharing().set_left(false);
  }
}

TEST(sharing, is_not_waited_for_where_somebody_is_at_it) {
  engine owner({.retain_bytes = 0});
  owner.give_now(take(owner));
  owner.flush_caches();
  owner.sharing().before_fork();
  EXPECT_EQ(owner.try_trim_remote(), 0u);
  EXPECT_FALSE(owner.try_give_segment());
  owner.sharing().after_fork();
  EXPECT_NE(owner.held_bytes(), 0u);
  static_cast<void>(owner.try_trim_remote());
  EXPECT_EQ(owner.held_bytes(), 0u);
}

TEST(sharing, calls_back_at_each_fourth_slow_call) {
  engine owner({.retain_bytes = 0});
  int told = 0;
  owner.sharing().on_slow_calls(&told, [](void* count) noexcept { ++*static_cast<int*>(count); });
  for (int i = 0; i < 160; ++i) owner.give_now(take(owner));
  EXPECT_EQ(told, frees_travel ? 40 : 0);
}

TEST(sharing, is_nothing_for_one_thread) {
  using alone = ashlar::detail::single_owner;
  static_assert(!alone::sends && std::is_empty_v<alone>);
  alone none({});
  int stores = 0;
  const auto call = none.lock_call();
  const auto in = none.lock_cold();
  EXPECT_EQ(&none.drain_inbox(stores), &stores);
}

}  // namespace
