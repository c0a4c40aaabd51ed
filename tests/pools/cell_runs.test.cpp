// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests runs of neighbouring cells, and many cells at once, beside single cells and against their contents.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::block_pool;
using ashlar::resource_ref;
using ashlar_test::counting_resource;
using pool_type = block_pool<resource_ref<counting_resource<>>>;

/// Runs and single cells, each filled with its own number.
class modelled_runs {
public:
  modelled_runs(pool_type& pool, unsigned seed) : pool_(pool), random_(seed) {}

  void step() {
    const bool growing = step_++ / 300 % 2 == 0;
    if (random_() % 100 < (growing ? 65u : 35u)) allocate(random_() % 3 == 0 ? 1 : 1 + random_() % 70);
    else if (!runs_.empty()) free_one();
    if (step_ % 500 == 0) static_cast<void>(pool_.trim());
  }

  void free_all() {
    while (!runs_.empty()) free_one();
  }

  void check() {
    ASSERT_TRUE(pool_.invariant());
    std::size_t live = 0;
    for (const run& each : runs_) live += cells_in(each);
    ASSERT_EQ(pool_.live(), live);
    for (const run& each : runs_) expect_intact(each);
  }

private:
  struct run {
    std::byte* at;
    std::size_t least;
    std::size_t count;
    unsigned char mark;
  };

  [[nodiscard]] std::size_t cells_in(const run& each) const { return pool_.owns(each.at) ? each.count : 0; }

  void allocate(std::size_t n) {
    ashlar::cell_run got;
    if (random_() % 2 == 0) got = pool_.allocate_at_least(n);
    else got = {pool_.try_allocate_run(n), n};
    ASSERT_NE(got.cells, nullptr);
    ASSERT_GE(got.count, n);
    if (pool_.owns(got.cells)) got.count = ashlar::detail::run_length(n);
    ASSERT_TRUE(ashlar::is_aligned(got.cells, ashlar::natural_alignment(pool_.cell_bytes())));
    runs_.push_back({static_cast<std::byte*>(got.cells), n, got.count, static_cast<unsigned char>(random_())});
    std::memset(got.cells, runs_.back().mark, got.count * pool_.cell_bytes());
  }

  void free_one() {
    std::swap(runs_[random_() % runs_.size()], runs_.back());
    const run leaving = runs_.back();
    runs_.pop_back();
    expect_intact(leaving);
    pool_.deallocate_run(leaving.at, leaving.least + random_() % (leaving.count - leaving.least + 1));
  }

  void expect_intact(const run& each) const {
    const std::span bytes(each.at, each.count * pool_.cell_bytes());
    ASSERT_TRUE(std::ranges::all_of(bytes, [&](std::byte b) { return b == std::byte{each.mark}; }));
  }

  pool_type& pool_;
  std::mt19937 random_;
  std::vector<run> runs_;
  std::size_t step_ = 0;
};

TEST(cell_runs, keep_their_contents_beside_single_cells) {
  for (const std::size_t cell_bytes : {1u, 3u, 8u, 24u, 100u, 1000u}) {
    SCOPED_TRACE(cell_bytes);
    counting_resource<> upstream;
    {
      pool_type pool({.cell_bytes = cell_bytes, .slab_bytes = 16 * 1024}, upstream);
      modelled_runs model(pool, 1);
      for (int step = 0; step < (ashlar_test::is_slow ? ashlar_test::cases_of_build(200, 500) : 2000); ++step) {
        ASSERT_NO_FATAL_FAILURE(model.step());
        if (step % 20 == 0) ASSERT_NO_FATAL_FAILURE(model.check());
      }
      model.free_all();
      model.check();
    }
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  }
}

TEST(cell_runs, of_one_are_cells_and_long_ones_are_the_upstreams) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 16, .slab_bytes = 4096}, upstream);
  void* const one = pool.allocate_run(1);
  pool.deallocate(one);
  EXPECT_EQ(pool.live(), 0u);
  const ashlar::cell_run many = pool.allocate_at_least(65);
  EXPECT_EQ(many.count, 65u);
  EXPECT_FALSE(pool.owns(many.cells));
  EXPECT_EQ(upstream.balance().bytes, pool.held_bytes() + 65 * 16);
  pool.deallocate_run(many.cells, 65);
  pool_type large({.cell_bytes = 1024, .slab_bytes = 4096}, upstream);  // three cells a slab
  void* const four = large.allocate_run(4);
  EXPECT_FALSE(large.owns(four));
  large.deallocate_run(four, 4);
}

TEST(cell_runs, respect_the_bound_and_the_end_of_memory) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 16, .slab_bytes = 4096, .max_count = 100}, upstream);
  void* const first = pool.try_allocate_run(64);
  EXPECT_EQ(pool.try_allocate_run(64), nullptr);
  void* const second = pool.try_allocate_run(32);
  void* const last = pool.try_allocate_run(4);
  EXPECT_NE(last, nullptr);
  EXPECT_EQ(pool.try_allocate(), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(pool.allocate_run(2)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pool.allocate_run(ashlar::max_size)), std::bad_alloc);
#endif
  pool.deallocate_run(first, 64);
  pool.deallocate_run(second, 32);
  pool.deallocate_run(last, 4);
  EXPECT_EQ(pool.live(), 0u);
  upstream.fail_from(0);
  std::vector<void*> runs;
  while (void* const run = pool.try_allocate_run(6)) runs.push_back(run);
  EXPECT_EQ(runs.size(), 16u);
  for (void* const run : runs) pool.deallocate_run(run, 5);
  EXPECT_TRUE(pool.invariant());
}

TEST(cell_runs, many_cells_come_and_go_at_once) {
  for (const std::size_t cell_bytes : {1u, 24u, 200u}) {
    counting_resource<> upstream;
    pool_type pool({.cell_bytes = cell_bytes, .slab_bytes = 8192}, upstream);
    std::mt19937 random(1);
    for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 3000u}) {
      std::vector<void*> cells(count);
      pool.allocate_many(cells);
      std::vector<void*> more(count / 2);
      EXPECT_EQ(pool.try_allocate_many(more), more.size());
      cells.insert(cells.end(), more.begin(), more.end());
      std::vector<void*> sorted = cells;
      std::ranges::sort(sorted);
      EXPECT_TRUE(std::ranges::adjacent_find(sorted) == sorted.end());
      EXPECT_EQ(pool.live(), cells.size());
      if (count % 2 == 0) std::ranges::shuffle(cells, random);
      pool.deallocate_many(cells);
      EXPECT_EQ(pool.live(), 0u);
      EXPECT_TRUE(pool.invariant());
    }
  }
}

TEST(cell_runs, many_are_all_or_none) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 16, .slab_bytes = 1024, .max_count = 100}, upstream);
  std::vector<void*> cells(101);
#if defined(__cpp_exceptions)
  EXPECT_THROW(pool.allocate_many(cells), std::bad_alloc);
  EXPECT_EQ(pool.live(), 0u);
#endif
  EXPECT_EQ(pool.try_allocate_many(cells), 100u);
  pool.deallocate_many(std::span(cells).first(100));
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_TRUE(pool.invariant());
}

}  // namespace
