// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slabs shared by threads and of a thread cache: stocks, the inbox, bounds, and misuse that arrives in
// packets.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/slab/cached_pool.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using ashlar::or_null;
using ashlar::or_throw;
using ashlar::detail::cell_batches;
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

  explicit world(std::size_t cell_bytes = 32, std::size_t retain_slabs = 0, std::size_t slab_bytes = 4096)
      : slabs(cells_of(cell_bytes, slab_bytes), retain_slabs, upstream) {}

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

TEST(shared_slabs, drops_late_frees_once_it_is_closed) {
  world w;
  ashlar::detail::batcher<> remote(w.slabs.inbox(), 1000);
  note(w, remote, take(w, 1).front());
  w.slabs.close();
  EXPECT_EQ(w.upstream.balance(), nothing);
  ASSERT_TRUE(remote.flush());
  EXPECT_TRUE(remote.is_idle());
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

using cache_type = ashlar::detail::cell_cache<slabs_type>;

constexpr std::size_t cell_bytes = 32;

// Constant-initialised: a thread-local cache needs no guard.
[[maybe_unused]] constinit thread_local cache_type of_this_thread;
static_assert(std::is_trivially_destructible_v<cache_type>);
static_assert(sizeof(cache_type) <= 9 * 1024, "one for each thread and pool");

// The work of a pool on a cache.
struct cached_world : world {
  cache_type cache;

  cached_world() : world(cell_bytes, 0, 16 * 1024) { cache.open(); }
  cached_world(const cached_world&) = delete;
  cached_world& operator=(const cached_world&) = delete;
  ~cached_world() {
    if (cache.is_open()) cache.close(slabs);
  }

  [[nodiscard]] std::vector<void*> allocate(std::size_t cells) {
    std::vector<void*> all(cells);
    for (void*& each : all) {
      each = cache.take(slabs);
      if (each == nullptr) each = cache.refill<or_throw>(slabs);
    }
    return all;
  }
  void free(void* cell) { free(cache, cell); }
  void free(cache_type& by, void* cell) {
    ashlar::detail::mark_free(cell, cell_bytes);
    if (!by.put(slabs, cell)) by.put_slow(slabs, cell);
  }

  // Cached cells have left the slabs, but are not live.
  [[nodiscard]] std::size_t live() { return taken() - cache.held_cells(); }
};

TEST(cell_cache, starts_closed_and_keeps_nothing) {
  cached_world w;
  cache_type closed;
  EXPECT_FALSE(closed.is_open());
  EXPECT_EQ(closed.take(w.slabs), nullptr);
  void* const cell = w.allocate(1)[0];
  EXPECT_FALSE(closed.put(w.slabs, cell));
  EXPECT_EQ(closed.held_cells(), 0u);
  EXPECT_TRUE(closed.invariant(w.slabs));
  w.free(cell);
}

TEST(cell_cache, keeps_a_bounded_number_of_bytes) {
  cached_world w;
  const std::vector<void*> cells = w.allocate(30'000);
  for (void* const cell : cells) {
    w.free(cell);
    ASSERT_LE(w.cache.held_cells() * cell_bytes, 3 * 64u * 1024);
  }
  EXPECT_TRUE(w.cache.invariant(w.slabs));
  EXPECT_EQ(w.live(), 0u);
}

TEST(cell_cache, frees_under_the_lock_where_there_is_no_memory_to_note_them) {
  cached_world w;
  const std::vector<void*> cells = w.allocate(5000);
  w.upstream.fail_from(0);
  for (void* const cell : cells) {
    w.free(cell);
    ASSERT_TRUE(w.cache.invariant(w.slabs));
  }
  EXPECT_NE(w.upstream.refusals(), 0u);
  EXPECT_EQ(w.live(), 0u);
}

// A thread that only frees caches no cells: every free is noted, and the batcher sends its surplus.
TEST(cell_cache, a_thread_that_only_frees_keeps_a_bounded_number_and_never_waits) {
  cached_world w;
  cache_type freer;
  freer.open();
  const std::vector<void*> cells = w.allocate(40'000);
  for (void* const cell : cells) {
    w.free(freer, cell);
    ASSERT_LE(freer.held_cells() * cell_bytes, 64u * 1024);
  }
  EXPECT_TRUE(freer.invariant(w.slabs));
  EXPECT_LT(w.taken(), 40'000u) << "most have arrived, though nobody asked for a cell";
  freer.close(w.slabs);
  EXPECT_EQ(w.live(), 0u);
}

TEST(cell_cache, notices_a_second_free_that_it_has_noted) {
  const auto free_twice = [] {
    cached_world w;
    cache_type freer;
    freer.open();
    void* const cell = w.allocate(1)[0];
    for (int times = 0; times < 2; ++times) w.free(freer, cell);
  };
  ASHLAR_EXPECT_DEATH(free_twice(),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 32");
}

}  // namespace
