// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that header, bitmap and cells never overlap, for every cell size and colour.
#include <ashlar/detail/slab/slab_geometry.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/support/bits.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::slab_geometry;
using ashlar::detail::slab_shape;

/// An address for arithmetic only, never touched.
std::byte* address(std::uintptr_t at) { return reinterpret_cast<std::byte*>(at); }

std::uintptr_t number(const void* p) { return ashlar::detail::address_of(p); }

/// A slab's parts as offsets from its start, computed by the geometry under test.
struct parts {
  std::uintptr_t header, bitmap, bitmap_end, cells, cells_end;
  std::uint32_t capacity;
};

parts parts_of(const slab_geometry& g, const slab_shape& shape, std::byte* slab) {
  parts at{};
  std::byte* const header = g.header_of(slab);
  at.header = number(header) - number(slab);
  at.bitmap = at.header + shape.header_bytes;
  at.bitmap_end = at.bitmap + g.words() * 8 * ashlar::detail::cell_bitmaps;
  at.cells = number(g.cells_of(header)) - number(slab);
  at.capacity = g.capacity(slab);
  at.cells_end = at.cells + at.capacity * g.cell_stride();
  return at;
}

void expect_sound(const slab_geometry& g, const slab_shape& shape, std::byte* slab) {
  const parts at = parts_of(g, shape, slab);
  ASSERT_EQ(at.header % 64, 0u);
  ASSERT_LE(at.header, shape.slab_bytes / 128) << "the gap is too wide";
  ASSERT_LE(at.bitmap_end + ashlar::detail::front_guard, at.cells);
  ASSERT_GE(g.guard_bytes(), ashlar::detail::least_guard);
  ASSERT_EQ((number(slab) + at.cells) % shape.cell_alignment, 0u);
  ASSERT_LE(at.capacity, g.words() * 64);
  ASSERT_GE(at.capacity, g.least_capacity());
  if (at.capacity == 0) return;
  ASSERT_LE(at.cells_end, shape.slab_bytes);
  ASSERT_GT(at.cells_end + g.cell_stride(), shape.slab_bytes) << "another cell fits";
}

void expect_cells_are_found(const slab_geometry& g, const slab_shape& shape, std::byte* slab) {
  std::byte* const first = g.cells_of(g.header_of(slab));
  const std::uint32_t capacity = g.capacity(slab);
  const std::uint32_t step = std::max(capacity / 50, 1u);
  for (std::uint32_t i = 0; i < capacity; i += step) {
    ASSERT_EQ(g.index_of(i * g.cell_stride()), i);
    ASSERT_EQ(g.slab_of(first + i * g.cell_stride()), slab);
  }
  if (capacity != 0) ASSERT_EQ(g.index_of((capacity - 1) * g.cell_stride()), capacity - 1);
  ASSERT_EQ(g.slab_of(slab + shape.slab_bytes - 1), slab);
  ASSERT_EQ(g.slab_of(g.header_of(slab)), slab);
}

void try_all_colours(const slab_shape& shape) {
  SCOPED_TRACE(::testing::Message() << shape.cell_bytes << " at " << shape.cell_alignment << " in "
                                    << shape.slab_bytes);
  const slab_geometry g(shape);
  ASSERT_EQ(g.cell_bytes(), shape.cell_bytes);
  ASSERT_EQ(g.cell_alignment(), shape.cell_alignment);
  ASSERT_EQ(g.slab_bytes(), shape.slab_bytes);
  for (std::size_t k = 1; k <= slab_geometry::max_colours; ++k) {
    std::byte* const slab = address(0x40000000u / shape.slab_bytes * shape.slab_bytes + k * shape.slab_bytes);
    ASSERT_NO_FATAL_FAILURE(expect_sound(g, shape, slab));
    ASSERT_NO_FATAL_FAILURE(expect_cells_are_found(g, shape, slab));
  }
}

TEST(slab_geometry, parts_never_overlap_for_any_cell_size) {
  for (const std::size_t slab_bytes : {std::size_t{16} << 10, std::size_t{64} << 10, std::size_t{256} << 10})
    for (std::size_t cell = 1; cell <= 4096; cell += ashlar_test::cases_of_build(5U, 1U)) {
      const std::size_t natural = std::min(cell & (0 - cell), alignof(std::max_align_t));
      ASSERT_NO_FATAL_FAILURE(try_all_colours(
          {.cell_bytes = cell, .cell_alignment = natural, .slab_bytes = slab_bytes, .header_bytes = 128}));
    }
}

TEST(slab_geometry, cells_have_the_alignment_asked_for) {
  for (std::size_t slab_bytes = 8192; slab_bytes <= std::size_t{4} << 20; slab_bytes *= 2)
    for (std::size_t alignment = 1; alignment <= slab_bytes / 4; alignment *= 2)
      for (std::size_t cells = 1; cells <= 3; ++cells)
        for (const std::size_t header : {64u, 128u, 192u})
          ASSERT_NO_FATAL_FAILURE(try_all_colours({.cell_bytes = cells * alignment,
                                                   .cell_alignment = alignment,
                                                   .slab_bytes = slab_bytes,
                                                   .header_bytes = header}));
}

TEST(slab_geometry, the_largest_slabs_and_cells_fit_their_fields) {
  constexpr std::size_t largest = std::size_t{1} << (sizeof(void*) == 8 ? 31 : 27);
  for (const std::size_t cell : {std::size_t{1}, std::size_t{3}, std::size_t{1} << 20, (std::size_t{1} << 24) - 1})
    ASSERT_NO_FATAL_FAILURE(
        try_all_colours({.cell_bytes = cell, .cell_alignment = 1, .slab_bytes = largest, .header_bytes = 128}));
}

TEST(slab_geometry, neighbouring_slabs_have_different_colours) {
  constexpr std::size_t slab_bytes = std::size_t{256} << 10;
  const slab_geometry g({.cell_bytes = 64, .cell_alignment = 8, .slab_bytes = slab_bytes, .header_bytes = 128});
  for (std::size_t k = 0; k < 32; ++k) {
    std::byte* const slab = address(slab_bytes * (16 + k));
    EXPECT_EQ(number(g.header_of(slab)) - number(slab), k % slab_geometry::max_colours * slab_geometry::line_bytes);
  }
}

TEST(slab_geometry, small_slabs_have_one_colour) {
  const slab_geometry g({.cell_bytes = 8, .cell_alignment = 8, .slab_bytes = 8192, .header_bytes = 128});
  for (std::size_t k = 1; k < 32; ++k) EXPECT_EQ(g.header_of(address(8192 * k)), address(8192 * k));
}

// The header, bitmap and gap of a slab of small cells: its overhead.
TEST(slab_geometry, overhead_is_one_bit_a_cell_and_the_header) {
  constexpr std::size_t slab_bytes = std::size_t{256} << 10;
  for (std::size_t cell = 8; cell <= 256; cell += 8) {
    const slab_geometry g({.cell_bytes = cell, .cell_alignment = 8, .slab_bytes = slab_bytes, .header_bytes = 128});
    const std::size_t stride = g.cell_stride();
    const std::size_t metadata =
        128 + slab_bytes / stride / 8 * ashlar::detail::cell_bitmaps + ashlar::detail::front_guard;
    EXPECT_GE(g.least_capacity() * stride, slab_bytes - metadata - slab_bytes / 128 - stride - 16) << cell;
  }
}

// One word fewer would leave cells without a bit, unless the last word exists for rounding only.
TEST(slab_geometry, the_bitmap_has_no_more_words_than_the_cells_need) {
  for (const std::size_t slab_bytes : {std::size_t{4} << 10, std::size_t{64} << 10, std::size_t{256} << 10})
    for (std::size_t cell = 1; cell <= 300; ++cell) {
      const slab_geometry g({.cell_bytes = cell, .cell_alignment = 1, .slab_bytes = slab_bytes, .header_bytes = 128});
      const std::size_t cells = g.capacity(nullptr);  // without a gap
      ASSERT_GE(g.words() * 64, cells);
      ASSERT_LE(g.words() * 64, cells + 128) << cell << " in " << slab_bytes;
    }
}

TEST(slab_geometry, a_slab_without_room_for_a_cell_has_no_capacity) {
  const slab_geometry g({.cell_bytes = 4096, .cell_alignment = 4096, .slab_bytes = 4096, .header_bytes = 128});
  EXPECT_EQ(g.least_capacity(), 0u);
  EXPECT_EQ(g.capacity(address(4096)), 0u);
}

}  // namespace
