// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the totals of a pool exceed 2^32 if `std::size_t` can hold them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace {

using ashlar::detail::slab;
using ashlar::detail::slab_set;

constexpr std::uint32_t most_cells = 0x7FFF'FFFF;

/// A slab that claims 2^31 - 1 cells: it has its header, and the first word of its bitmap.
struct alignas(64) claimed_slab {
  std::byte header[sizeof(slab)];
  std::uint64_t word;

  slab* format() noexcept {
    slab* const made = slab::format(header, this, header, 64);
    made->capacity = made->free = most_cells;
    return made;
  }
};

TEST(counts, of_all_slabs_pass_2_to_the_32) {
  if constexpr (ashlar::detail::has_guards) GTEST_SKIP() << "the other bitmaps would lie behind all words of the first";
  if constexpr (sizeof(std::size_t) == 8) {
    const auto geometry = ashlar::detail::make_slab_geometry(
        {.cell_bytes = 1, .cell_alignment = 1, .slab_bytes = ashlar::detail::largest_slab});
    std::array<claimed_slab, 3> memory;
    slab_set set;
    for (claimed_slab& each : memory) set.add(each.format());
    EXPECT_EQ(set.capacity(), 3 * std::size_t{most_cells});
    EXPECT_GT(set.capacity(), std::numeric_limits<std::uint32_t>::max());
    const ashlar::detail::cell_batch taken = set.take_batch(geometry, 64);
    EXPECT_EQ(taken.mask, ~std::uint64_t{0});
    EXPECT_EQ(set.taken(), 64u);
    EXPECT_TRUE(set.has_free());
    for (claimed_slab& each : memory)
      if (auto* const one = reinterpret_cast<slab*>(each.header); one->free == most_cells) set.remove(one);
    EXPECT_EQ(set.capacity(), most_cells);
    EXPECT_EQ(set.slabs(), 1u);
  }
}

}  // namespace
