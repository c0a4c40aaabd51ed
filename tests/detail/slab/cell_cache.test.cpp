// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a thread cache alone: open and closed, full and empty, with and without memory for its frees.
#include <ashlar/detail/slab/cached_pool.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using ashlar::detail::or_null;
using ashlar::detail::or_throw;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using slabs_type =
    ashlar::detail::shared_slabs<ashlar::detail::dynamic_geometry, ashlar_test::serialised_ref<>, ashlar::spin_lock>;
using cache_type = ashlar::detail::cell_cache<slabs_type>;

constexpr std::size_t cell_bytes = 32;

// Constant-initialised: a thread-local cache needs no guard.
[[maybe_unused]] constinit thread_local cache_type of_this_thread;
static_assert(std::is_trivially_destructible_v<cache_type>);
static_assert(sizeof(cache_type) <= 9 * 1024, "one for each thread and pool");

// The work of a pool on a cache.
struct world {
  counting_resource<> upstream;
  slabs_type slabs{ashlar::detail::dynamic_geometry(
                       ashlar::detail::make_slab_geometry({.cell_bytes = cell_bytes, .slab_bytes = 16 * 1024})),
                   0, upstream};
  cache_type cache;

  world() { cache.open(); }
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world() {
    if (cache.is_open()) cache.close(slabs);
  }

  [[nodiscard]] void* allocate() {
    void* const cell = cache.take(slabs);
    return cell != nullptr ? cell : cache.refill<or_throw>(slabs);
  }

  [[nodiscard]] std::vector<void*> allocate(std::size_t cells) {
    std::vector<void*> all(cells);
    for (void*& each : all) each = allocate();
    return all;
  }

  void free(void* cell) {
    ashlar::detail::mark_free(cell, cell_bytes);
    if (!cache.put(slabs, cell)) cache.put_slow(slabs, cell);
  }

  [[nodiscard]] std::size_t taken() {
    return slabs.count([](const ashlar::detail::slab_set& set) { return set.taken(); });
  }

  // Cached cells have left the slabs, but are not live.
  [[nodiscard]] std::size_t live() { return taken() - cache.held_cells(); }
};

TEST(cell_cache, starts_closed_and_keeps_nothing) {
  world w;
  cache_type closed;
  EXPECT_FALSE(closed.is_open());
  EXPECT_EQ(closed.take(w.slabs), nullptr);
  void* const cell = w.allocate();
  EXPECT_FALSE(closed.put(w.slabs, cell));
  EXPECT_EQ(closed.held_cells(), 0u);
  EXPECT_TRUE(closed.invariant(w.slabs));
  w.free(cell);
}

TEST(cell_cache, keeps_a_bounded_number_of_bytes) {
  world w;
  const std::vector<void*> cells = w.allocate(30'000);
  for (void* const cell : cells) {
    w.free(cell);
    ASSERT_LE(w.cache.held_cells() * cell_bytes, 3 * 64u * 1024);
  }
  EXPECT_TRUE(w.cache.invariant(w.slabs));
  EXPECT_EQ(w.live(), 0u);
}

TEST(cell_cache, closes_with_live_cells_about) {
  world w;
  const std::vector<void*> cells = w.allocate(1000);
  w.cache.close(w.slabs);
  EXPECT_EQ(w.taken(), 1000u);
  for (void* const cell : cells) w.slabs.deallocate(cell);
  EXPECT_EQ(w.upstream.balance(), nothing);
}

TEST(cell_cache, frees_under_the_lock_where_there_is_no_memory_to_note_them) {
  world w;
  const std::vector<void*> cells = w.allocate(5000);
  w.upstream.fail_from(0);
  for (void* const cell : cells) {
    w.free(cell);
    ASSERT_TRUE(w.cache.invariant(w.slabs));
  }
  EXPECT_NE(w.upstream.refusals(), 0u);
  EXPECT_EQ(w.live(), 0u);
}

TEST(cell_cache, refuses_and_continues_when_memory_is_back) {
  world w;
  w.upstream.fail_from(0);
  EXPECT_EQ(w.cache.refill<or_null>(w.slabs), nullptr);
  EXPECT_TRUE(w.cache.invariant(w.slabs));
  w.upstream.fail_never();
  void* const cell = w.cache.refill<or_null>(w.slabs);
  ASSERT_NE(cell, nullptr);
  w.free(cell);
}

// A thread that only frees caches no cells: every free is noted, and the batcher sends its surplus.
TEST(cell_cache, a_thread_that_only_frees_keeps_a_bounded_number_and_never_waits) {
  world w;
  cache_type freer;
  freer.open();
  const std::vector<void*> cells = w.allocate(40'000);
  for (void* const cell : cells) {
    ashlar::detail::mark_free(cell, cell_bytes);
    if (!freer.put(w.slabs, cell)) freer.put_slow(w.slabs, cell);
    ASSERT_LE(freer.held_cells() * cell_bytes, 64u * 1024);
  }
  EXPECT_TRUE(freer.invariant(w.slabs));
  EXPECT_LT(w.taken(), 40'000u) << "most have arrived, though nobody asked for a cell";
  freer.close(w.slabs);
  EXPECT_EQ(w.live(), 0u);
}

TEST(cell_cache, notices_a_second_free_that_it_has_noted) {
  const auto free_twice = [] {
    world w;
    cache_type freer;
    freer.open();
    void* const cell = w.allocate();
    for (int times = 0; times < 2; ++times)
      if (!freer.put(w.slabs, cell)) freer.put_slow(w.slabs, cell);
  };
  ASHLAR_EXPECT_DEATH(free_twice(),
                      "ashlar: double_free: freed a cell that is free, pointer 0x*, resource 0x*, size 32");
}

}  // namespace
