// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the cells of slabs: they lie within their slices, are aligned, and have the right sampled addresses.
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/cell_layout.hpp>

namespace {

using ashlar::detail::cell_layout;
using ashlar::detail::size_classes;
using ashlar::detail::slice_bytes;

TEST(cell_layout, has_room_for_its_cells_at_every_colour) {
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const cell_layout layout = cell_layout::of(number);
    EXPECT_GE(layout.slices * slice_bytes, 4 * layout.cell_bytes);
    for (std::size_t turn = 0; turn < layout.colours; ++turn) {
      const std::size_t colour = layout.colour(turn);
      EXPECT_EQ(colour % size_classes::alignment_of(number), 0u);
      EXPECT_LE(colour + layout.capacity(colour) * layout.cell_bytes, layout.slices * slice_bytes);
      EXPECT_GE(layout.capacity(colour) * layout.cell_bytes * 8, layout.slices * slice_bytes * 6);
    }
  }
}

TEST(cell_layout, takes_every_place_once_in_turn) {
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const cell_layout layout = cell_layout::of(number);
    std::set<std::size_t> remote_free_infos;
    for (std::size_t turn = 5; turn < layout.colours + 5; ++turn) remote_free_infos.insert(layout.colour(turn));
    EXPECT_EQ(remote_free_infos.size(), layout.colours);
    EXPECT_EQ(*remote_free_infos.rbegin(), layout.unit * (layout.colours - 1));
  }
}

// The sampled addresses of all slabs of a class account for the bytes of these slabs.
TEST(cell_layout, samples_stand_for_all_bytes_of_their_class) {
  EXPECT_TRUE(ashlar::detail::is_sampled(nullptr));
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const cell_layout layout = cell_layout::of(number);
    std::size_t samples = 0;
    for (std::size_t turn = 0; turn < layout.colours; ++turn) {
      const std::size_t colour = layout.colour(turn);
      for (std::size_t cell = 0; cell < layout.capacity(colour); ++cell) {
        const std::size_t at = 7 * slice_bytes + colour + cell * layout.cell_bytes;
        samples += ashlar::detail::is_sampled(reinterpret_cast<const void*>(at)) ? 1u : 0u;
      }
    }
    ASSERT_GT(samples, 0u);
    EXPECT_EQ(ashlar::detail::bytes_per_sample(number), layout.colours * layout.slices * slice_bytes / samples);
    EXPECT_LE(samples * 2, layout.colours * layout.capacity(0)) << "few of the cells of class " << number;
  }
}

// Pages of SQLite, with their headers.
TEST(cell_layout, fills_a_slice_with_pages_and_their_headers) {
  const cell_layout of_a_page = cell_layout::of(size_classes::of(4096 + 272));
  EXPECT_EQ(of_a_page.slices, 1u);
  EXPECT_EQ(of_a_page.capacity(0), 15u);
  EXPECT_EQ(cell_layout::of(size_classes::of(1024 + 8)).capacity(0), 63u);
}

}  // namespace
