// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the type of a pool tells whether its cells can hold an object, also through a reference.
#include <ashlar/detail/face/known_cells.hpp>

#include <array>
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

namespace {

using ashlar::fixed_block_pool;
using ashlar::detail::may_be_in_cell_of;

template <std::size_t Bytes>
using bytes = std::array<char, Bytes>;

struct alignas(16) wide {
  char bytes[16];
};

static_assert(may_be_in_cell_of<bytes<24>, fixed_block_pool<24>>);
static_assert(!may_be_in_cell_of<bytes<25>, fixed_block_pool<24>>);
static_assert(may_be_in_cell_of<bytes<32>, fixed_block_pool<24, 16>>, "cells are rounded up to their alignment");
static_assert(!may_be_in_cell_of<wide, fixed_block_pool<24>>, "cells of 24 bytes are aligned to 8");
static_assert(!may_be_in_cell_of<bytes<25>, ashlar::resource_ref<fixed_block_pool<24>>>);

TEST(known_cells, sizes_of_the_run_time_are_no_sizes_of_types) {
  EXPECT_TRUE((may_be_in_cell_of<bytes<1000>, ashlar::block_pool<>>));
}

}  // namespace
