// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pools of equal cells, with a size chosen at run time and with a constant one: every size against a
// model, options, overhead, bounds, growth and shrinking, failing upstreams.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "tests/resource/pool_model.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/meddling_resource.hpp"

namespace {

using ashlar::block_pool;
using ashlar::block_pool_options;
using ashlar::fixed_block_pool;
using ashlar::resource_ref;
using ashlar_test::cells_over_counts;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;
using pool_type = block_pool<upstream_ref>;

constexpr std::array<std::size_t, 14> cell_sizes = {1, 2, 3, 4, 8, 12, 16, 24, 40, 48, 100, 512, 4096, 65536};

// The smallest slab with room for one cell at any alignment.
constexpr std::size_t least_slab(std::size_t cell_bytes, std::size_t alignment) {
  const std::size_t metadata =
      sizeof(ashlar::detail::slab) + 8 * ashlar::detail::cell_bitmaps + ashlar::detail::front_guard;
  const std::size_t stride = ashlar::align_up(cell_bytes + ashlar::detail::least_guard, alignment);
  return std::max(std::size_t{256}, std::bit_ceil(stride + ashlar::align_up(metadata, alignment)));
}

void run_model(const block_pool_options& options, std::size_t most) {
  counting_resource<> upstream;
  {
    pool_type pool(options, upstream);
    EXPECT_EQ(upstream.allocations(), 0u);
    const std::size_t alignment =
        options.cell_alignment != 0 ? options.cell_alignment : ashlar::natural_alignment(options.cell_bytes);
    ashlar_test::pool_model model(pool, options.cell_bytes, alignment, 1);
    model.run(most);
    EXPECT_EQ(upstream.balance().bytes, pool.held_bytes());
    static_cast<void>(pool.trim());
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  }
}

// Beyond its alignment a block is not a cell, and needs its size to come back.
struct small_cells : cells_over_counts<24, 8> {
  pool_type resource{{.cell_bytes = 24, .slab_bytes = 1024}, upstream};
};
struct odd_cells : cells_over_counts<5, 1> {
  pool_type resource{{.cell_bytes = 5, .slab_bytes = 4096, .retain_slabs = 0}, upstream};
};
struct bounded_cells : cells_over_counts<48, 16> {
  static constexpr bool bounded = true;
  pool_type resource{{.cell_bytes = 48, .cell_alignment = 16, .slab_bytes = 512, .max_count = 60}, upstream};
};
struct cells_over_a_throwing_upstream : cells_over_counts<40, 8> {
  block_pool<ashlar_test::throwing_only<>> resource{{.cell_bytes = 40, .slab_bytes = 4096}, upstream};
};
struct cells_in_pages : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 128;
  static constexpr std::size_t largest = 128;
  static constexpr bool exhaustible = false;
  block_pool<> resource{{.cell_bytes = 128, .cell_alignment = 128}};
};
template <std::size_t CellBytes, std::size_t CellAlignment>
struct fixed_cells : cells_over_counts<CellBytes, CellAlignment> {
  fixed_block_pool<CellBytes, CellAlignment, upstream_ref> resource{{}, this->upstream};
};
struct bounded_fixed_cells : cells_over_counts<8, 8> {
  static constexpr bool bounded = true;
  fixed_block_pool<8, 8, upstream_ref> resource{{.max_count = 70}, upstream};
};

TEST(block_pool, agrees_with_a_model_at_every_cell_size) {
  for (const std::size_t cell_bytes : cell_sizes) {
    SCOPED_TRACE(cell_bytes);
    run_model({.cell_bytes = cell_bytes}, ashlar_test::model_cells(cell_bytes));
  }
}

TEST(block_pool, agrees_with_a_model_in_the_smallest_slabs) {
  for (const std::size_t cell_bytes : cell_sizes) {
    SCOPED_TRACE(cell_bytes);
    const std::size_t slab_bytes = least_slab(cell_bytes, ashlar::natural_alignment(cell_bytes));
    run_model({.cell_bytes = cell_bytes, .slab_bytes = slab_bytes}, ashlar_test::model_cells(cell_bytes) / 2);
  }
}

TEST(block_pool, agrees_with_a_model_in_slabs_of_every_size) {
  for (std::size_t slab_bytes = 256; slab_bytes <= std::size_t{1} << 22; slab_bytes *= 4) {
    SCOPED_TRACE(slab_bytes);
    run_model({.cell_bytes = 20, .slab_bytes = slab_bytes, .retain_slabs = 2}, 4000);
  }
}

TEST(block_pool, agrees_with_a_model_at_every_alignment) {
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 4)
    for (const std::size_t cell_bytes : {std::size_t{1}, std::size_t{100}}) {
      SCOPED_TRACE(alignment);
      const std::size_t whole = ashlar::align_up(cell_bytes, alignment);
      run_model({.cell_bytes = cell_bytes, .cell_alignment = alignment, .slab_bytes = least_slab(whole, alignment)},
                ashlar_test::model_cells(whole) / 2);
    }
}

TEST(block_pool, fills_in_what_the_options_leave_open) {
  const block_pool<> pool({.cell_bytes = 24});
  EXPECT_EQ(pool.cell_bytes(), 24u);
  EXPECT_EQ(pool.slab_bytes(), ashlar::detail::default_slab_bytes(24));
  EXPECT_EQ(block_pool<>({.cell_bytes = 20, .cell_alignment = 8}).cell_bytes(), 24u);
  EXPECT_EQ(block_pool<>({.cell_bytes = 1}).cell_bytes(), 1u);
  EXPECT_EQ(block_pool<>({.cell_bytes = 3, .slab_bytes = 256}).slab_bytes(), 256u);
}

// Every level refuses wrong layouts, before any memory is touched.
struct bad_options {
  block_pool_options options;
  const char* what;
};

TEST(block_pool_death, a_wrong_layout_is_misuse_at_every_level) {
  constexpr std::size_t top_bit = ashlar::max_size / 2 + 1;
  const std::initializer_list<bad_options> table = {
      {{.cell_bytes = 0}, "cell_bytes is not in 1..2^27"},
      {{.cell_bytes = (std::size_t{1} << 27) + 1}, "cell_bytes is not in 1..2^27"},
      {{.cell_bytes = ashlar::max_size}, "cell_bytes is not in 1..2^27"},
      {{.cell_bytes = 8, .cell_alignment = 3}, "cell_alignment is not a power of two"},
      {{.cell_bytes = 8, .cell_alignment = 24}, "cell_alignment is not a power of two"},
      {{.cell_bytes = 8, .cell_alignment = top_bit}, "cell_alignment is not a power of two"},
      {{.cell_bytes = 8, .slab_bytes = 1000}, "slab_bytes is not a power of two"},
      {{.cell_bytes = 8, .slab_bytes = top_bit + 1}, "slab_bytes is not a power of two"},
      {{.cell_bytes = 8, .slab_bytes = 64}, "slab_bytes has no room for a cell"},
      {{.cell_bytes = 4096, .slab_bytes = 4096}, "slab_bytes has no room for a cell"},
      {{.cell_bytes = 1, .cell_alignment = 256, .slab_bytes = 256}, "slab_bytes has no room for a cell"},
  };
  for (const bad_options& bad : table)
    ASHLAR_EXPECT_DEATH(static_cast<void>(block_pool<>(bad.options)), std::string("ashlar: precondition: ") + bad.what);
}

TEST(block_pool, may_be_used_by_its_upstream_meanwhile) {
  ashlar_test::meddling_resource upstream;
  block_pool<resource_ref<ashlar_test::meddling_resource>> pool({.cell_bytes = 24, .slab_bytes = 1024}, upstream);
  std::vector<void*> cells;
  do cells.push_back(pool.allocate());
  while (pool.live() < 100 || pool.live() != pool.capacity());
  const std::size_t before = cells.size();
  void* nested = nullptr;
  upstream.meddle = [&] {
    for (int i = 0; i < 10; ++i) pool.deallocate(cells.back()), cells.pop_back();
    nested = pool.allocate();
  };
  void* const cell = pool.allocate();
  EXPECT_NE(cell, nested);
  EXPECT_EQ(pool.live(), before - 10 + 2);
  EXPECT_TRUE(pool.invariant());
  pool.release();
}

TEST(block_pool, stays_bounded_when_its_upstream_uses_it) {
  ashlar_test::meddling_resource upstream;
  block_pool<resource_ref<ashlar_test::meddling_resource>> pool({.cell_bytes = 24, .slab_bytes = 1024, .max_count = 1},
                                                                upstream);
  void* nested = nullptr;
  upstream.meddle = [&] { nested = pool.try_allocate(); };
  EXPECT_EQ(pool.try_allocate(), nullptr);  // the only cell is the nested one
  EXPECT_NE(nested, nullptr);
  EXPECT_EQ(pool.live(), 1u);
  EXPECT_TRUE(pool.invariant());
  pool.release();
}

TEST(block_pool, large_cells_do_not_rest_in_front) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 1 << 20, .retain_slabs = 0}, upstream);
  std::vector<void*> cells(64);
  for (void*& cell : cells) cell = pool.allocate();
  for (void* const cell : cells) pool.deallocate(cell);
  EXPECT_LE(pool.slabs(), 1u);  // the one with cells that were never handed out
}

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

TEST(block_pool, a_bounded_pool_is_exact_when_full_and_goes_on_after_one_free) {
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

TEST(block_pool, what_is_reserved_needs_no_upstream_until_trim) {
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

TEST(block_pool, hands_out_the_cell_freed_last_after_reserve_and_after_a_run) {
  if constexpr (!ashlar::detail::cached_cells<>::takes_freed) GTEST_SKIP() << "no freed cell is cached";
  counting_resource<> upstream;
  pool_type reserved({.cell_bytes = 24}, upstream);
  pool_type started_by_run({.cell_bytes = 24}, upstream);
  reserved.reserve(1000);
  void* const run = started_by_run.allocate_run(8);
  for (pool_type* const pool : {&reserved, &started_by_run}) {
    void* const cell = pool->allocate();
    pool->deallocate(cell);
    EXPECT_EQ(pool->allocate(), cell);
    pool->deallocate(cell);
  }
  started_by_run.deallocate_run(run, 8);
}

TEST(block_pool, reserve_refuses_what_can_never_be) {
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

TEST(block_pool, does_not_thrash_at_the_boundary_of_a_slab) {
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

TEST(block_pool, gives_empty_slabs_back_but_the_spare_ones) {
  for (const std::size_t spare : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    counting_resource<> upstream;
    pool_type pool({.cell_bytes = 64, .slab_bytes = 4096, .retain_slabs = spare}, upstream);
    const std::vector<void*> cells = take_whole_slabs(pool, 20'000);
    EXPECT_GT(pool.slabs(), 100u);
    give(pool, cells);
    EXPECT_EQ(pool.live(), 0u);
    EXPECT_EQ(pool.slabs(), spare);
    EXPECT_EQ(upstream.balance().bytes, pool.held_bytes());
    EXPECT_LE(pool.held_bytes() - spare * 4096, 1024 * sizeof(void*));  // addresses of cached cells
    EXPECT_TRUE(pool.invariant());
  }
}

TEST(block_pool, trim_returns_exact_bytes_and_orders_what_is_free) {
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

TEST(block_pool, owns_its_cells_and_nothing_beside_them) {
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

TEST(block_pool, what_no_cell_can_hold_comes_from_the_upstream) {
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

TEST(block_pool, passes_any_exception_of_its_upstream_through) {
  block_pool<throwing_upstream> pool({.cell_bytes = 24});
  EXPECT_THROW(static_cast<void>(pool.allocate()), out_of_order);
  EXPECT_THROW(static_cast<void>(pool.allocate(1000, 8)), out_of_order);
  EXPECT_THROW(pool.reserve(1), out_of_order);
  EXPECT_EQ(pool.try_allocate(), nullptr);
  EXPECT_EQ(pool.try_allocate(1000, 8), nullptr);
  EXPECT_TRUE(pool.invariant());
}
#endif

template <std::size_t CellBytes, std::size_t CellAlignment = ashlar::natural_alignment(CellBytes)>
void run_fixed_model() {
  SCOPED_TRACE(CellBytes);
  counting_resource<> upstream;
  {
    fixed_block_pool<CellBytes, CellAlignment, upstream_ref> pool({}, upstream);
    ashlar_test::pool_model model(pool, CellBytes, CellAlignment, 2);
    model.run(2 * ashlar_test::model_cells(CellBytes));
  }
  EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
}

TEST(fixed_block_pool, agrees_with_a_model) {
  run_fixed_model<1>();
  run_fixed_model<3>();
  run_fixed_model<8>();
  run_fixed_model<24>();
  run_fixed_model<40>();
  run_fixed_model<512>();
  run_fixed_model<64, 64>();
  run_fixed_model<4096, 4096>();
}

TEST(fixed_block_pool, the_layout_is_that_of_a_block_pool) {
  const fixed_block_pool<24> fixed;
  const ashlar::block_pool<> chosen({.cell_bytes = 24});
  EXPECT_EQ(fixed.cell_bytes(), chosen.cell_bytes());
  EXPECT_EQ(fixed.slab_bytes(), chosen.slab_bytes());
  EXPECT_EQ((fixed_block_pool<20, 16>().cell_bytes()), 32u);
}

TEST(fixed_block_pool, alignment_defaults_to_what_an_object_of_that_size_may_need) {
  EXPECT_TRUE((std::is_same_v<fixed_block_pool<24>, fixed_block_pool<24, 8>>));
  EXPECT_TRUE((std::is_same_v<fixed_block_pool<3>, fixed_block_pool<3, 1>>));
  EXPECT_TRUE((std::is_same_v<fixed_block_pool<4096>, fixed_block_pool<4096, alignof(std::max_align_t)>>));
}

// Constant-initialised static storage: no constructor runs.
constinit fixed_block_pool<16, 16> made_at_compile_time;

TEST(fixed_block_pool, is_made_at_compile_time) {
  void* const cell = made_at_compile_time.allocate();
  EXPECT_TRUE(ashlar::is_aligned(cell, 16));
  EXPECT_EQ(made_at_compile_time.live(), 1u);
  made_at_compile_time.deallocate(cell);
  EXPECT_TRUE(made_at_compile_time.invariant());
}

TEST(block_pool, starts_with_a_kibibyte) {
  counting_resource<> upstream;
  pool_type pool({.cell_bytes = 64}, upstream);
  give(pool, take(pool, 3));
  EXPECT_EQ(upstream.balance().bytes, 1024u);
  EXPECT_EQ(pool.trim(), 1024u);
}

TEST(fixed_block_pool, a_stateless_upstream_costs_no_room) {
  if constexpr (ashlar::checking_level < ashlar::checking::checked) EXPECT_LE(sizeof(ashlar::block_pool<>), 256u);
  EXPECT_LT(sizeof(fixed_block_pool<8>), sizeof(fixed_block_pool<8, 8, upstream_ref>));
  EXPECT_LT(sizeof(fixed_block_pool<8>), sizeof(ashlar::block_pool<>));
}

// An exception of an upstream aborts where nothing can be thrown.
using may_throw = std::conditional_t<ashlar_test::has_exceptions, cells_over_a_throwing_upstream, cells_in_pages>;
const bool tested =
    ashlar_test::conforms<small_cells, odd_cells, bounded_cells, may_throw, cells_in_pages>("block_pool") &&
    ashlar_test::conforms<fixed_cells<4, 4>, fixed_cells<24, 8>, fixed_cells<100, 4>, fixed_cells<64, 64>,
                          fixed_cells<2000, 16>, bounded_fixed_cells>("fixed_block_pool");

}  // namespace
