// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pool with a run-time cell size: every size against a model, its options, its overhead.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/resource/pool_model.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::block_pool;
using ashlar::block_pool_options;
using ashlar::resource_ref;
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
    EXPECT_EQ(upstream.balance().bytes, pool.slabs() * pool.slab_bytes());
    static_cast<void>(pool.trim());
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  }
}

struct small_cells : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 8;  // beyond it a block is not a cell, and needs its size to come back
  static constexpr std::size_t largest = 24;
  counting_resource<> upstream;
  pool_type resource{{.cell_bytes = 24, .slab_bytes = 1024}, upstream};
};

struct odd_cells : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 1;
  static constexpr std::size_t largest = 5;
  counting_resource<> upstream;
  pool_type resource{{.cell_bytes = 5, .slab_bytes = 4096, .retain_slabs = 0}, upstream};
};

struct bounded_cells : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 48;
  static constexpr bool bounded = true;
  counting_resource<> upstream;
  pool_type resource{{.cell_bytes = 48, .cell_alignment = 16, .slab_bytes = 512, .max_count = 60}, upstream};
};

struct cells_over_a_throwing_upstream : ashlar_test::conformance_defaults {
  [[maybe_unused]] static constexpr std::size_t max_alignment = 8;
  [[maybe_unused]] static constexpr std::size_t largest = 40;
  counting_resource<> upstream;
  block_pool<ashlar_test::throwing_only<>> resource{{.cell_bytes = 40, .slab_bytes = 4096}, upstream};
};

struct cells_in_pages : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 128;
  static constexpr std::size_t largest = 128;
  static constexpr bool exhaustible = false;
  block_pool<> resource{{.cell_bytes = 128, .cell_alignment = 128}};
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

// Slabs without their contents: counts bytes, and maps no page before its first touch.
class tallied_pages {
public:
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    held += bytes;
    return pages_.allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    held -= bytes;
    pages_.deallocate(p, bytes, alignment);
  }
  bool operator==(const tallied_pages& other) const noexcept { return this == &other; }

  std::size_t held = 0;

private:
  ashlar::basic_page_resource<ashlar::fresh::plain> pages_;
};

// Overhead: held bytes beyond the strides, 1/8 byte per cell and bitmap, 2 % and one slab.
void expect_no_overhead(std::size_t cell_bytes) {
  constexpr bool writes_to_all = ashlar_test::has_asan || ashlar_test::is_hardened;
  constexpr std::size_t most_bytes = std::size_t{256} << (writes_to_all || sizeof(void*) == 4 ? 20 : 24);
  const std::size_t cells =
      std::min(ashlar_test::cases_of_build(std::size_t{300'000}, std::size_t{1'000'000}), most_bytes / cell_bytes);
  tallied_pages upstream;
  block_pool<ashlar::resource_ref<tallied_pages>> pool({.cell_bytes = cell_bytes}, upstream);
  for (std::size_t i = 0; i < cells; ++i) ASSERT_NE(pool.allocate(), nullptr);
  const double bits = static_cast<double>(ashlar::detail::cell_bitmaps);
  const double bytes = static_cast<double>(cells) * (static_cast<double>(pool.cell_stride()) + bits / 8);
  EXPECT_LE(static_cast<double>(upstream.held), bytes * 1.02 + static_cast<double>(pool.slab_bytes())) << cell_bytes;
  pool.release();
  EXPECT_EQ(upstream.held, 0u);
}

TEST(block_pool, costs_a_bit_a_cell) {
  for (const std::size_t cell_bytes : cell_sizes)
    if (cell_bytes <= 4096) expect_no_overhead(cell_bytes);
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

// An upstream that uses the pool above it, as a new_handler does that frees objects of the program.
struct meddling_upstream {
  std::function<void()> meddle;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (meddle) std::exchange(meddle, nullptr)();
    return upstream.allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream.deallocate(p, bytes, alignment);
  }
  bool operator==(const meddling_upstream& other) const noexcept { return this == &other; }

  counting_resource<> upstream;
};

TEST(block_pool, may_be_used_by_its_upstream_meanwhile) {
  meddling_upstream upstream;
  block_pool<resource_ref<meddling_upstream>> pool({.cell_bytes = 24, .slab_bytes = 1024}, upstream);
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
  meddling_upstream upstream;
  block_pool<resource_ref<meddling_upstream>> pool({.cell_bytes = 24, .slab_bytes = 1024, .max_count = 1}, upstream);
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

}  // namespace

namespace ashlar_test {
// An exception of an upstream aborts where nothing can be thrown.
using may_throw = std::conditional_t<has_exceptions, cells_over_a_throwing_upstream, cells_in_pages>;
using block_pools = ::testing::Types<small_cells, odd_cells, bounded_cells, may_throw, cells_in_pages>;
const bool tested = conforms("block_pool", block_pools{});
}  // namespace ashlar_test
