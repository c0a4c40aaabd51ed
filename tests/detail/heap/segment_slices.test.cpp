// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the states of the slices of a segment.
#include <ashlar/detail/heap/segment_slices.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::first_slice;
using ashlar::detail::segment;
using ashlar::detail::segment_bytes;
using ashlar::detail::segment_slices;
using ashlar::detail::slice_mask;

class segment_slices_test : public ::testing::Test {
protected:
  ~segment_slices_test() override { upstream.deallocate(memory, segment_bytes, segment_bytes); }

  ashlar::page_resource upstream;
  void* memory = upstream.allocate(segment_bytes, segment_bytes);
  segment* home = segment::format(memory, 0, segment_bytes);
  slice_mask all = segment_slices::all_of(segment_bytes);
};

TEST_F(segment_slices_test, are_fresh_until_taken_and_again_once_dropped) {
  segment_slices slices{home, all, all};
  EXPECT_TRUE(slices.is_unused() && slices.dirty() == 0 && slices.invariant());
  slices.take(first_slice + 2, 3);
  EXPECT_FALSE(slices.is_unused());
  EXPECT_TRUE(slices.invariant());
  slices.free = all;  // as a free of the run
  EXPECT_TRUE(slices.is_unused());
  EXPECT_EQ(slices.dirty(), 3u);
  slices.drop(first_slice + 2, 3);
  EXPECT_EQ(slices.dirty(), 0u);
  EXPECT_TRUE(slices.dropped != 0 && slices.invariant());
  slices.take(first_slice + 3, 1);
  EXPECT_TRUE(slices.invariant()) << "a taken slice is not a dropped one";
}

TEST_F(segment_slices_test, prefer_the_start_of_a_former_run) {
  segment_slices slices{home, all, all};
  slices.take(first_slice + 5, 2);
  slices.free = all;
  EXPECT_EQ(slices.first_of(all), first_slice + 5);
  slices.drop(first_slice + 5, 2);
  EXPECT_EQ(slices.first_of(all), first_slice) << "its pages are gone";
}

TEST_F(segment_slices_test, leave_their_fresh_ones_to_the_next_owner) {
  segment_slices slices{home, all, all};
  slices.take(first_slice, 1);
  slices.free = all;
  EXPECT_EQ(home->head.fresh, 0u);
  slices.hand_over();
  EXPECT_EQ(home->head.fresh, slices.fresh);
  EXPECT_EQ(ashlar::detail::count_bits(home->head.fresh), ashlar::detail::most_slices - 1);
}

}  // namespace
