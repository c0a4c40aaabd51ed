// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of every fixed-size pool: bounds, growth and shrinking, hysteresis, misuse, failing upstreams.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/live_blocks.hpp"

namespace {

using ashlar::block_pool;
using ashlar::resource_ref;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using pool_type = block_pool<resource_ref<counting_resource<>>>;

std::vector<void*> take(auto& pool, std::size_t cells) {
  std::vector<void*> taken(cells);
  for (void*& cell : taken) cell = pool.allocate();
  return taken;
}

// Takes cells until the pool has handed out all it holds, so that the next cell needs a new slab.
std::vector<void*> take_whole_slabs(auto& pool, std::size_t at_least) {
  std::vector<void*> taken = take(pool, at_least);
  while (pool.live() != pool.capacity()) taken.push_back(pool.allocate());
  return taken;
}

void give(auto& pool, const std::vector<void*>& cells) {
  for (void* const cell : cells) pool.deallocate(cell);
}

TEST(basic_block_pool, a_bounded_pool_is_exact_when_full_and_goes_on_after_one_free) {
  for (const std::size_t bound : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1000}}) {
    counting_resource<> upstream;
    pool_type pool({.cell_bytes = 16, .slab_bytes = 1024, .max_count = bound}, upstream);
    std::vector<void*> cells = take(pool, bound);
    for (int again = 0; again < 1000; ++again) ASSERT_EQ(pool.try_allocate(), nullptr);
#if defined(__cpp_exceptions)
    for (int again = 0; again < 1000; ++again) ASSERT_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
#endif
    EXPECT_EQ(pool.live(), bound);
    EXPECT_EQ(pool.capacity(), bound);
    EXPECT_TRUE(pool.invariant());
    for (void*& cell : cells) {
      pool.deallocate(cell);
      EXPECT_EQ(pool.live(), bound - 1);
      cell = pool.try_allocate();
      ASSERT_NE(cell, nullptr);
      ASSERT_EQ(pool.try_allocate(), nullptr);
    }
    give(pool, cells);
    EXPECT_EQ(pool.live(), 0u);
  }
}

TEST(basic_block_pool, what_is_reserved_needs_no_upstream_until_trim) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 24, .slab_bytes = 2048}, upstream);
  pool.reserve(5000);
  EXPECT_GE(pool.capacity(), 5000u);
  EXPECT_EQ(pool.live(), 0u);
  const std::size_t calls = upstream.allocations();
  upstream.fail_from(0);
  for (int round = 0; round < 3; ++round) {
    give(pool, take(pool, 5000));
    EXPECT_GE(pool.capacity(), 5000u);
  }
  EXPECT_EQ(upstream.allocations(), calls);
  EXPECT_EQ(upstream.deallocations(), 0u);
  pool.reserve(10);  // less than before: nothing to do
  EXPECT_GT(pool.trim(), 5000u * 24u);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_TRUE(pool.invariant());
}

TEST(basic_block_pool, reserve_refuses_what_can_never_be) {
#if defined(__cpp_exceptions)
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 24, .slab_bytes = 2048, .max_count = ashlar::max_size}, upstream);
  for (const std::size_t cells :
       {ashlar::max_size, ashlar::max_size / 24, ashlar::max_size / 24 + 1, ashlar::max_block_bytes / 24 + 1})
    EXPECT_THROW(pool.reserve(cells), std::bad_alloc);
  EXPECT_EQ(upstream.allocations(), 0u);
  pool_type bounded({.cell_bytes = 24, .slab_bytes = 2048, .max_count = 10}, upstream);
  EXPECT_THROW(bounded.reserve(11), std::bad_alloc);
  bounded.reserve(10);
  upstream.fail_at(2);
  EXPECT_THROW(pool.reserve(1000), ashlar_test::injected_failure);
  EXPECT_EQ(pool.slabs(), 2u);  // keeps its gains
  EXPECT_TRUE(pool.invariant());
  pool.reserve(1000);
#endif
}

TEST(basic_block_pool, does_not_thrash_at_the_boundary_of_a_slab) {
  for (const std::size_t slab_bytes : {std::size_t{256}, std::size_t{4096}, std::size_t{256} * 1024})
    for (const std::size_t batch : {std::size_t{1}, std::size_t{2}, std::size_t{63}}) {
      counting_resource<> upstream;
      pool_type pool({.cell_bytes = 64, .slab_bytes = slab_bytes}, upstream);
      const std::vector<void*> cells = take_whole_slabs(pool, 1000);
      if (batch > pool.capacity() / pool.slabs()) {  // more than a slab at once: no boundary to cross
        give(pool, cells);
        continue;
      }
      give(pool, take(pool, batch));
      const std::size_t before = upstream.allocations() + upstream.deallocations();
      for (int swing = 0; swing < 10'000; ++swing) give(pool, take(pool, batch));
      EXPECT_LE(upstream.allocations() + upstream.deallocations() - before, 2u) << slab_bytes << ' ' << batch;
      give(pool, cells);
    }
}

TEST(basic_block_pool, gives_empty_slabs_back_but_the_spare_ones) {
  for (const std::size_t spare : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    counting_resource<> upstream;
    pool_type pool({.cell_bytes = 64, .slab_bytes = 4096, .retain_slabs = spare}, upstream);
    const std::vector<void*> cells = take_whole_slabs(pool, 20'000);
    EXPECT_GT(pool.slabs(), 100u);
    give(pool, cells);
    EXPECT_EQ(pool.live(), 0u);
    EXPECT_EQ(pool.slabs(), spare);
    EXPECT_EQ(upstream.balance().bytes, spare * 4096);
    EXPECT_TRUE(pool.invariant());
  }
}

TEST(basic_block_pool, trim_returns_exact_bytes_and_orders_what_is_free) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 40, .slab_bytes = 4096, .retain_slabs = 1000}, upstream);
  std::vector<void*> cells = take(pool, 10'000);
  std::vector<void*> kept;
  for (std::size_t i = 0; i < cells.size(); ++i)  // scattered frees, and whole slabs
    if (const std::size_t j = i * 7919 % cells.size(); j > 6000 || j % 3 == 0) pool.deallocate(cells[j]);
    else kept.push_back(cells[j]);
  const std::size_t before = upstream.balance().bytes;
  const std::size_t given = pool.trim();
  EXPECT_GT(given, 0u);
  EXPECT_EQ(given, before - upstream.balance().bytes);
  EXPECT_EQ(pool.trim(), 0u);
  const std::size_t calls = upstream.allocations();
  const std::vector<void*> fresh = take(pool, pool.capacity() - pool.live());
  EXPECT_EQ(upstream.allocations(), calls);
  EXPECT_TRUE(std::ranges::is_sorted(fresh, std::less<>()));
  give(pool, fresh);
  give(pool, kept);
}

TEST(basic_block_pool, trim_counts_what_only_the_front_kept_alive) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 64, .slab_bytes = 256, .retain_slabs = 0}, upstream);
  give(pool, take_whole_slabs(pool, 300));
  const std::size_t before = upstream.balance().bytes;
  EXPECT_EQ(pool.trim(), before);
  EXPECT_EQ(upstream.balance(), nothing);
}

TEST(basic_block_pool, owns_its_cells_and_nothing_beside_them) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 100, .slab_bytes = 1024}, upstream);
  pool_type other({.cell_bytes = 100, .slab_bytes = 1024}, upstream);
  const std::vector<void*> cells = take(pool, 200);
  const std::vector<void*> foreign = take(other, 200);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_TRUE(pool.owns(cells[i]) && pool.owns(static_cast<std::byte*>(cells[i]) + 99));
    EXPECT_FALSE(pool.owns(foreign[i]));
    EXPECT_FALSE(pool.owns(ashlar::align_down(cells[i], 1024)));  // the header
  }
  EXPECT_FALSE(pool.owns(nullptr) || pool.owns(&pool));
  EXPECT_TRUE(pool == pool && !(pool == other));
  pool.release();
  other.release();
}

TEST(basic_block_pool, what_no_cell_can_hold_comes_from_the_upstream) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 32, .cell_alignment = 16, .slab_bytes = 1024}, upstream);
  const std::array<std::array<std::size_t, 2>, 4> requests = {{{33, 16}, {1000, 1}, {8, 32}, {0, 4096}}};
  for (const auto& [bytes, alignment] : requests) {
    void* const p = pool.allocate(bytes, alignment);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment));
    EXPECT_EQ(upstream.balance(), (ashlar_test::holdings{1, bytes}));
    EXPECT_EQ(pool.live(), 0u);
    pool.deallocate(p, bytes, alignment);
  }
  void* const cell = pool.allocate(0, 1);  // an empty block has a cell of its own
  EXPECT_TRUE(pool.owns(cell));
  pool.deallocate(cell, 0, 1);
}

#if defined(__cpp_exceptions)
struct out_of_order {};  // not derived from std::exception

struct throwing_upstream {
  void* allocate(std::size_t, std::size_t) { throw out_of_order(); }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
  bool operator==(const throwing_upstream&) const = default;
};

TEST(basic_block_pool, passes_any_exception_of_its_upstream_through) {
  block_pool<throwing_upstream> pool({.cell_bytes = 24});
  EXPECT_THROW(static_cast<void>(pool.allocate()), out_of_order);
  EXPECT_THROW(static_cast<void>(pool.allocate(1000, 8)), out_of_order);
  EXPECT_THROW(pool.reserve(1), out_of_order);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_EQ(pool.try_allocate(1000, 8), nullptr);
  EXPECT_TRUE(pool.invariant());
}
#endif

}  // namespace
