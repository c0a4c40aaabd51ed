// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the head of a segment and of slabs in it: every class, every cell.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::first_slice;
using ashlar::detail::segment;
using ashlar::detail::size_classes;
using ashlar::detail::slab_view;
using ashlar::detail::span_header;

class segment_test : public ::testing::Test {
protected:
  // Raw memory with arbitrary contents.
  segment_test() {
    std::memset(memory_, 0xA5, first_slice * ashlar::detail::slice_bytes);
    home_ = segment::format(memory_, 3, ashlar::detail::segment_bytes);
  }
  ~segment_test() override {
    upstream_.deallocate(memory_, ashlar::detail::segment_bytes, ashlar::detail::segment_bytes);
  }

  ashlar::new_delete_resource upstream_;
  void* memory_ = upstream_.allocate(ashlar::detail::segment_bytes, ashlar::detail::segment_bytes);
  segment* home_ = nullptr;
};

TEST_F(segment_test, knows_its_slices) {
  EXPECT_EQ(home_->head.index, 3u);
  EXPECT_EQ(home_->slices_held(), 64u);
  for (std::size_t slice = first_slice; slice < 64; ++slice) {
    std::byte* const p = home_->slice(slice);
    EXPECT_EQ(segment::of(p + 77), home_);
    EXPECT_EQ(segment::slice_of(p + 77), slice);
    EXPECT_EQ(segment::size_class_of(p + 77), size_classes::none);
    EXPECT_EQ(home_->slice_of_record(home_->record(slice)), slice);
  }
}

TEST_F(segment_test, a_slab_of_each_class_has_aligned_cells_in_its_slices) {
  for (std::size_t number = 1; number <= size_classes::count; ++number)
    for (std::size_t turn = 0; turn < 20; ++turn) {
      span_header& slab = home_->record(first_slice + 1);
      const slab_view cells(slab);
      slab_view(slab).format(number, turn);
      const std::size_t room = slab.length * ashlar::detail::slice_bytes;
      std::byte* const start = home_->slice(first_slice + 1);
      ASSERT_GE(slab.cells, start);
      ASSERT_LE(slab.cells + slab.capacity * slab.cell_bytes, start + room);
      ASSERT_LE((room - slab.capacity * slab.cell_bytes), slab.cell_bytes + 1024);
      ASSERT_GE(slab.capacity, slab.cell_bytes < 1024 ? 60u : 4u);
      ASSERT_TRUE(ashlar::detail::is_aligned(slab.cells, size_classes::alignment_of(number)));
      ASSERT_EQ(slab.free, slab.capacity);
      ASSERT_TRUE(cells.invariant());
      for (std::size_t i = 0; i < slab.length; ++i) {
        std::byte* const inside = start + i * ashlar::detail::slice_bytes + 100;
        ASSERT_EQ(segment::size_class_of(inside), number);
        ASSERT_EQ(segment::parcel_lane_of(inside), slab.cell_bytes <= 1024 ? home_->head.lane : segment::no_lane);
        ASSERT_EQ(&segment::slab_of(inside), &slab);
      }
      for (std::uint32_t i = 0; i < slab.capacity; ++i) {
        ASSERT_EQ(slab.index_of(slab.cell(i)), i);
        ASSERT_TRUE(slab.is_cell(slab.cell(i)));
        ASSERT_FALSE(slab.is_cell(slab.cell(i) + 1) || slab.is_cell(slab.cell(i) + slab.cell_bytes - 1));
      }
      ASSERT_FALSE(slab.is_cell(slab.cell(slab.capacity)) || slab.is_cell(slab.cells - 1));
      home_->set_class(first_slice + 1, slab.length, size_classes::none);
    }
}

TEST_F(segment_test, slabs_of_one_class_start_at_different_cache_lines) {
  std::set<std::uintptr_t> lines;
  for (std::size_t turn = 0; turn < 16; ++turn) {
    span_header& slab = home_->record(first_slice + turn);
    slab_view(slab).format(size_classes::of(64), turn);
    lines.insert(ashlar::detail::address_of(slab.cells) % ashlar::detail::slice_bytes);
  }
  EXPECT_EQ(lines.size(), 8u);
}

TEST_F(segment_test, heaps_without_a_number_have_each_lane_in_turn) {
  std::set<std::uint32_t> given;
  for (std::uint32_t i = 0; i < segment::lanes; ++i) given.insert(segment::next_lane());
  EXPECT_EQ(given.size(), segment::lanes);
}

TEST_F(segment_test, words_are_taken_and_given) {
  span_header& slab = home_->record(first_slice);
  slab_view cells(slab);
  cells.format(size_classes::of(1000), 0);
  std::set<std::byte*> all;
  while (slab.free != 0) {
    const ashlar::detail::cell_batch word = cells.take_batch();
    ASSERT_NE(word.mask, 0u);
    for (std::size_t i = 0; i < 64; ++i)
      if (((word.mask >> i) & 1) != 0) all.insert(word.base + i * slab.cell_bytes);
    ASSERT_TRUE(cells.invariant());
  }
  EXPECT_EQ(all.size(), slab.capacity);
  std::size_t taken = 0;
  cells.for_each_taken([&](std::byte* cell) { taken += all.contains(cell) ? 1u : 0u; });
  EXPECT_EQ(taken, all.size());
  for (std::byte* const cell : all) {
    cells.give(cell);
    ASSERT_TRUE(cells.is_free(slab.index_of(cell)));
  }
  EXPECT_EQ(slab.free, slab.capacity);
  ashlar::detail::cell_batch word = cells.take_batch();
  word.mask &= word.mask - 1;
  EXPECT_EQ(cells.give_batch(slab.index_of(word.base) / 64, word.mask), 0u);
  EXPECT_EQ(slab.free, slab.capacity - 1);
  EXPECT_TRUE(cells.invariant());
}

TEST_F(segment_test, tells_live_cells_where_that_is_checked) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "known from level checked on";
  span_header& slab = home_->record(first_slice);
  slab_view cells(slab);
  cells.format(size_classes::of(48), 5);
  for (std::uint32_t i = 0; i < slab.capacity; ++i) {
    ASSERT_FALSE(segment::is_live(slab.cell(i)));
    if (i % 3 == 0) segment::flip_live(slab.cell(i));
  }
  for (std::uint32_t i = 0; i < slab.capacity; ++i) ASSERT_EQ(segment::is_live(slab.cell(i)), i % 3 == 0);
}

TEST_F(segment_test, a_block_is_a_run_of_no_class) {
  home_->set_block(first_slice + 2, 5);
  EXPECT_EQ(home_->record(first_slice + 2).size_class, size_classes::none);
  EXPECT_EQ(home_->record(first_slice + 2).length, 5u);
  if (ashlar_test::is_checked) EXPECT_EQ(home_->record(first_slice + 6).first, first_slice + 2);
}

}  // namespace
