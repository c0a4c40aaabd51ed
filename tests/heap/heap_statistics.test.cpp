// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the sums over a heap's blocks.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/local_heap.hpp>

namespace {

using ashlar::size_classes;

TEST(heap_statistics, sums_live_blocks_by_class) {
  ashlar::local_heap<> heap;
  EXPECT_EQ(ashlar::statistics_of(heap).held_bytes, 0u);
  std::vector<void*> held;
  for (int i = 0; i < 100; ++i) held.push_back(heap.allocate(48)), held.push_back(heap.allocate(1000));
  for (std::size_t i = 0; i < 100; i += 4) heap.deallocate(held[i]);
  static_cast<void>(heap.allocate(100'000));
  static_cast<void>(heap.allocate(5'000'000));
  const ashlar::heap_statistics sums = ashlar::statistics_of(heap);
  EXPECT_EQ(sums.of_class[size_classes::of(48)].blocks, 75u);
  EXPECT_EQ(sums.of_class[size_classes::of(48)].bytes, 75u * 48);
  EXPECT_EQ(sums.of_class[size_classes::of(1000)].blocks, 100u);
  EXPECT_EQ(sums.runs.blocks, 1u);
  EXPECT_EQ(sums.runs.bytes, 2u * 65536);
  EXPECT_EQ(sums.huge.blocks, 1u);
  EXPECT_GE(sums.huge.bytes, 5'000'000u);
  EXPECT_EQ(sums.all.blocks, 177u);
  EXPECT_EQ(sums.held_bytes, heap.held_bytes());
  EXPECT_EQ(sums.spare_bytes(), sums.held_bytes - sums.all.bytes);
}

}  // namespace
