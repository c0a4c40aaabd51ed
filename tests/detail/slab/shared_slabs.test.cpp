// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slabs shared by threads: stocks, the inbox, growth and shrinking, and misuse that arrives in packets.
#include <ashlar/detail/slab/shared_slabs.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using ashlar::detail::cell_batches;
using ashlar::detail::or_null;
using ashlar::detail::or_throw;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using ashlar_test::serialised_ref;

using slabs_type = ashlar::detail::shared_slabs<ashlar::detail::dynamic_geometry, serialised_ref<>, ashlar::spin_lock>;
using on_pages = ashlar::detail::shared_slabs<ashlar::detail::dynamic_geometry, ashlar::page_resource, std::mutex>;

ashlar::detail::dynamic_geometry cells_of(std::size_t bytes, std::size_t slab_bytes = 4096) {
  return ashlar::detail::dynamic_geometry(
      ashlar::detail::make_slab_geometry({.cell_bytes = bytes, .slab_bytes = slab_bytes}));
}

// The upstream reports a block that comes back wrongly or never.
struct world {
  counting_resource<> upstream;
  slabs_type slabs;

  explicit world(std::size_t cell_bytes = 32, std::size_t retain_slabs = 0)
      : slabs(cells_of(cell_bytes), retain_slabs, upstream) {}

  [[nodiscard]] std::size_t taken() {
    return slabs.count([](const ashlar::detail::slab_set& set) { return set.taken(); });
  }
  [[nodiscard]] std::size_t capacity() {
    return slabs.count([](const ashlar::detail::slab_set& set) { return set.capacity(); });
  }
  [[nodiscard]] bool invariant() {
    return slabs.count([](const ashlar::detail::slab_set& set) { return set.invariant() ? std::size_t{1} : 0; }) == 1;
  }
  void give_back(const std::vector<void*>& cells) {
    slabs.with_store([&](auto& store) {
      ashlar::detail::gathered_cells<ashlar::detail::slab> neighbours;
      for (void* const cell : cells) store.gather(slabs.geometry(), cell, neighbours);
      store.give(slabs.geometry(), neighbours);
    });
  }
};

std::vector<void*> cells_in(const cell_batches& stock, std::size_t cell_bytes) {
  std::vector<void*> cells;
  for (std::size_t at = 0; at < stock.count; ++at)
    for (std::uint64_t rest = stock.words[at].mask; rest != 0; rest &= rest - 1) {
      std::byte* const cell = stock.words[at].base + static_cast<std::size_t>(std::countr_zero(rest)) * cell_bytes;
      ashlar::detail::mark_live(cell, cell_bytes);
      cells.push_back(cell);
    }
  return cells;
}

std::vector<void*> take(world& of, std::size_t most) {
  cell_batches stock;
  static_cast<void>(of.slabs.take<or_throw>(stock, most, nullptr));
  return cells_in(stock, of.slabs.cell_stride());
}

// Frees without the lock, as another thread would.
void note(world& of, ashlar::detail::batcher<>& by, void* cell) {
  ashlar::detail::mark_free(cell, of.slabs.cell_bytes());
  ASSERT_EQ(by.add(of.slabs.place_of(cell)), ashlar::detail::batch_result::noted);
}

TEST(shared_slabs, allocates_nothing_before_the_first_cell) {
  world w;
  EXPECT_EQ(w.upstream.allocations(), 0u);
  EXPECT_EQ(w.capacity(), 0u);
  EXPECT_EQ(w.slabs.trim(), 0u);
  EXPECT_TRUE(w.invariant());
}

TEST(shared_slabs, fills_a_stock_with_distinct_cells_that_are_taken_now) {
  world w;
  std::set<void*, std::less<>> seen;
  std::vector<void*> all;
  for (std::size_t most : {1u, 2u, 63u, 64u, 65u, 256u, 1000u}) {
    const std::vector<void*> cells = take(w, most);
    EXPECT_GE(cells.size(), 1u);
    EXPECT_LE(cells.size(), most);
    all.insert(all.end(), cells.begin(), cells.end());
    seen.insert(cells.begin(), cells.end());
    EXPECT_EQ(seen.size(), all.size());
    EXPECT_EQ(w.taken(), all.size());
    EXPECT_TRUE(w.invariant());
  }
  w.give_back(all);
  EXPECT_EQ(w.taken(), 0u);
}

TEST(shared_slabs, a_stock_is_bounded_in_bytes) {
  on_pages slabs(cells_of(16 * 1024, 256 * 1024), 0, {});
  cell_batches stock;
  static_cast<void>(slabs.take<or_throw>(stock, cell_batches::max_cells, nullptr));
  EXPECT_EQ(cells_in(stock, 16 * 1024).size(), cell_batches::max_bytes / (16 * 1024));
  on_pages large(cells_of(128 * 1024, 1024 * 1024), 0, {});
  cell_batches one;
  static_cast<void>(large.take<or_throw>(one, cell_batches::max_cells, nullptr));
  EXPECT_EQ(cells_in(one, 128 * 1024).size(), 1u) << "one at least";
}

TEST(shared_slabs, one_cell_at_a_time_under_the_lock) {
  world w;
  void* const first = w.slabs.allocate<or_throw>();
  void* const second = w.slabs.allocate<or_null>();
  EXPECT_NE(first, second);
  EXPECT_EQ(w.taken(), 2u);
  w.slabs.deallocate(first);
  w.slabs.deallocate(second);
  EXPECT_EQ(w.taken(), 0u);
  EXPECT_EQ(w.upstream.balance(), nothing) << "no slab is spare";
}

TEST(shared_slabs, takes_in_what_arrived_whenever_it_takes_the_lock) {
  world w;
  ashlar::detail::batcher<> remote(w.slabs.inbox(), 1000);
  const std::vector<void*> cells = take(w, 100);
  for (void* const cell : cells) note(w, remote, cell);
  EXPECT_EQ(w.taken(), cells.size()) << "not sent yet";
  ASSERT_TRUE(remote.flush());
  EXPECT_FALSE(remote.is_idle());
  EXPECT_EQ(w.taken(), 0u);
  EXPECT_TRUE(remote.is_idle());
  EXPECT_EQ(w.upstream.balance(), nothing);
}

TEST(shared_slabs, serves_its_own_frees_before_it_asks_the_upstream) {
  world w;
  std::vector<void*> all;
  while (all.empty() || w.taken() != w.capacity())
    for (void* const cell : take(w, 256)) all.push_back(cell);
  ashlar::detail::batcher<> own(w.slabs.inbox(), 1000);
  note(w, own, all.back());
  w.upstream.fail_from(0);
  cell_batches stock;
  ASSERT_TRUE(w.slabs.take<or_null>(stock, 256, &own)) << "what is noted and not sent serves as well";
  EXPECT_EQ(cells_in(stock, w.slabs.cell_stride()), std::vector<void*>{all.back()});
  note(w, own, all.front());
  ASSERT_TRUE(own.flush());
  EXPECT_EQ(w.slabs.allocate<or_null>(), all.front()) << "as does what was sent";
  EXPECT_EQ(w.slabs.allocate<or_null>(), nullptr);
  EXPECT_TRUE(own.is_idle());
}

TEST(shared_slabs, flushes_noted_and_sent_frees) {
  world w(32, 1);
  ashlar::detail::batcher<> own(w.slabs.inbox(), 1000);
  const std::vector<void*> cells = take(w, 64);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    note(w, own, cells[i]);
    ASSERT_TRUE(i != cells.size() / 2 || own.flush());
  }
  w.slabs.flush_caches(own);
  EXPECT_TRUE(own.is_idle());
  EXPECT_EQ(w.taken(), 0u);
}

TEST(shared_slabs, refuses_and_continues_when_memory_is_back) {
  world w;
  for (const bool all_after : {false, true}) {
    all_after ? w.upstream.fail_from(0) : w.upstream.fail_at(0);
    cell_batches stock;
    EXPECT_FALSE(w.slabs.take<or_null>(stock, 10, nullptr));
    EXPECT_EQ(stock.count, 0u);
    EXPECT_TRUE(w.invariant());
  }
  EXPECT_EQ(w.slabs.allocate<or_null>(), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(w.slabs.allocate<or_throw>()), std::bad_alloc);
  EXPECT_THROW(w.slabs.reserve(1), std::bad_alloc);
#endif
  w.upstream.fail_never();
  EXPECT_FALSE(take(w, 10).empty());
}

TEST(shared_slabs, reserves_and_keeps_until_it_shrinks) {
  world w;
  w.slabs.reserve(1000);
  EXPECT_GE(w.capacity(), 1000u);
  const std::size_t asked = w.upstream.allocations();
  w.slabs.deallocate(w.slabs.allocate<or_throw>());
  EXPECT_EQ(w.upstream.allocations(), asked);
  EXPECT_GE(w.capacity(), 1000u) << "empty slabs are not spare but reserved";
  w.slabs.reserve(500);
  EXPECT_EQ(w.upstream.allocations(), asked);
  EXPECT_EQ(w.slabs.trim(), asked * 4096);
  EXPECT_EQ(w.upstream.balance(), nothing);
}

TEST(shared_slabs, a_reservation_that_fails_keeps_what_it_gained) {
#if defined(__cpp_exceptions)
  world w;
  w.upstream.fail_from(3);
  EXPECT_THROW(w.slabs.reserve(100'000), std::bad_alloc);
  EXPECT_EQ(w.upstream.balance().blocks, 3u);
  const std::size_t gained = w.capacity();
  w.slabs.deallocate(w.slabs.allocate<or_throw>());
  EXPECT_EQ(w.capacity(), gained);
#endif
}

TEST(shared_slabs, keeps_spare_slabs) {
  world w(32, 2);
  std::vector<void*> all;
  while (w.upstream.balance().blocks < 5)
    for (void* const cell : take(w, 256)) all.push_back(cell);
  w.give_back(all);
  EXPECT_EQ(w.upstream.balance().blocks, 2u);
  EXPECT_EQ(w.slabs.trim(), 2 * 4096u);
}

TEST(shared_slabs, gives_all_back_when_it_is_released_and_serves_again) {
  world w;
  static_cast<void>(take(w, 256));
  w.slabs.release();
  EXPECT_EQ(w.upstream.balance(), nothing);
  EXPECT_EQ(w.capacity(), 0u);
  w.slabs.deallocate(w.slabs.allocate<or_throw>());
  EXPECT_TRUE(w.invariant());
}

TEST(shared_slabs, drops_late_frees_once_it_is_closed) {
  world w;
  ashlar::detail::batcher<> remote(w.slabs.inbox(), 1000);
  note(w, remote, take(w, 1).front());
  w.slabs.close();
  EXPECT_EQ(w.upstream.balance(), nothing);
  ASSERT_TRUE(remote.flush());
  EXPECT_TRUE(remote.is_idle());
}

TEST(shared_slabs, places_a_cell_where_its_bit_is) {
  world w(24);
  for (int round = 0; round < 3; ++round) {
    for (void* const cell : take(w, 256)) {
      const ashlar::detail::freed_word place = w.slabs.place_of(cell);
      EXPECT_EQ(std::popcount(place.cells), 1);
      EXPECT_EQ(ashlar::detail::align_down(place.key, 4096),
                ashlar::detail::align_down(ashlar::detail::address_of(cell), 4096));
    }
  }
}

// The second free of a cell comes in a packet of another thread, after the first has arrived.
TEST(shared_slabs, notices_in_a_packet_what_is_free_already) {
  const auto free_twice = [] {
    world w;
    const std::vector<void*> cells = take(w, 10);
    ashlar::detail::batcher<> first(w.slabs.inbox(), 1000), second(w.slabs.inbox(), 1000);
    note(w, first, cells[3]);
    note(w, second, cells[3]);
    ASSERT_TRUE(first.flush());
    ASSERT_TRUE(second.flush());
    static_cast<void>(w.taken());
  };
  ASHLAR_EXPECT_DEATH(free_twice(),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 32");
}

// An upstream that takes the lock of the slabs: a call under that lock would hang, or be caught.
struct needs_the_lock_free {
  static constexpr bool is_thread_safe = true;
  static inline std::function<bool()> is_free;  // NOLINT: state of a test

  void* allocate(std::size_t bytes, std::size_t alignment) {
    check();
    return ashlar::page_resource().allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    check();
    ashlar::page_resource().deallocate(p, bytes, alignment);
  }
  static void check() { EXPECT_TRUE(is_free()) << "the upstream was called under the lock"; }
  bool operator==(const needs_the_lock_free&) const noexcept = default;
};

TEST(shared_slabs, never_calls_its_upstream_under_the_lock) {
  ashlar::detail::shared_slabs<ashlar::detail::dynamic_geometry, needs_the_lock_free, ashlar::spin_lock> slabs(
      cells_of(32), 0, {});
  needs_the_lock_free::is_free = [&] {
    const bool was_free = slabs.lock().try_lock();
    if (was_free) slabs.lock().unlock();
    return was_free;
  };
  slabs.deallocate(slabs.allocate<or_throw>());
  slabs.reserve(1000);
  EXPECT_GT(slabs.trim(), 0u);
  static_cast<void>(slabs.allocate<or_throw>());
  slabs.release();
}

// Threads take and give cells in every way; a cell held by two threads at once shows as a lost write.
TEST(shared_slabs, hands_each_cell_to_one_thread_at_a_time) {
  constexpr int rounds = ashlar_test::has_tsan || ashlar_test::has_asan ? 150 : 1500;
  world w(32, 1);
  const auto work = [&](std::size_t who) {
    ashlar::detail::batcher<> own(w.slabs.inbox(), 256);
    for (int round = 0; round < rounds; ++round) {
      cell_batches stock;
      static_cast<void>(w.slabs.take<or_throw>(stock, 100, &own));
      const std::vector<void*> cells = cells_in(stock, w.slabs.cell_stride());
      for (void* const cell : cells) *static_cast<std::size_t*>(cell) = who;
      if (round % 7 == 0) std::this_thread::yield();
      for (std::size_t i = 0; i < cells.size(); ++i) {
        ASSERT_EQ(*static_cast<std::size_t*>(cells[i]), who);
        if (i % 8 == 0) w.slabs.deallocate(cells[i]);
        else note(w, own, cells[i]);
      }
      if (round % 5 == 0) w.slabs.flush_caches(own);
      if (round % 64 == 0) static_cast<void>(w.slabs.trim());
    }
    w.slabs.flush_caches(own);
    EXPECT_TRUE(own.is_idle());
  };
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < 4; ++who) threads.emplace_back(work, who);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(w.taken(), 0u);
  EXPECT_TRUE(w.invariant());
}

}  // namespace
