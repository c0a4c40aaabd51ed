// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pool with a compile-time cell size: the same laws and the same model, type by type.
#include <cstddef>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

#include "tests/resource/pool_model.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::fixed_block_pool;
using ashlar::fixed_block_pool_options;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;

template <std::size_t CellBytes, std::size_t CellAlignment>
struct cells_of : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = CellAlignment;
  static constexpr std::size_t largest = CellBytes;
  counting_resource<> upstream;
  fixed_block_pool<CellBytes, CellAlignment, upstream_ref> resource{fixed_block_pool_options{}, upstream};
};

struct bounded_cells : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 8;
  static constexpr std::size_t largest = 8;
  static constexpr bool bounded = true;
  counting_resource<> upstream;
  fixed_block_pool<8, 8, upstream_ref> resource{{.max_count = 70}, upstream};
};

template <std::size_t CellBytes, std::size_t CellAlignment = ashlar::natural_alignment(CellBytes)>
void run_model() {
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
  run_model<1>();
  run_model<3>();
  run_model<8>();
  run_model<24>();
  run_model<40>();
  run_model<512>();
  run_model<64, 64>();
  run_model<4096, 4096>();
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
constinit fixed_block_pool<16> made_at_compile_time;

TEST(fixed_block_pool, is_made_at_compile_time) {
  void* const cell = made_at_compile_time.allocate();
  EXPECT_TRUE(ashlar::is_aligned(cell, 16));
  EXPECT_EQ(made_at_compile_time.live(), 1u);
  made_at_compile_time.deallocate(cell);
  EXPECT_TRUE(made_at_compile_time.invariant());
}

TEST(fixed_block_pool, a_stateless_upstream_costs_no_room) {
  EXPECT_LT(sizeof(fixed_block_pool<8>), sizeof(fixed_block_pool<8, 8, upstream_ref>));
  EXPECT_LT(sizeof(fixed_block_pool<8>), sizeof(ashlar::block_pool<>));
}

}  // namespace

namespace ashlar_test {
using fixed_pools = ::testing::Types<cells_of<4, 4>, cells_of<24, 8>, cells_of<100, 4>, cells_of<64, 64>,
                                     cells_of<2000, 16>, bounded_cells>;
const bool tested = conforms("fixed_block_pool", fixed_pools{});
}  // namespace ashlar_test
