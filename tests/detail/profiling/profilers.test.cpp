// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that hooks do nothing without a profiler; tests/visibility tests them with profilers.
#include <ashlar/detail/profiling/profilers.hpp>

#include <cstddef>

#include <gtest/gtest.h>

namespace {

TEST(profilers, there_is_no_heaptrack_here) { EXPECT_FALSE(ashlar::detail::heaptrack::is_there()); }

TEST(profilers, requests_change_no_byte) {
  unsigned char memory[16] = {1, 2, 3};
  using ashlar::detail::mempool;
  mempool::begin(&memory);
  mempool::allocated(&memory, memory, 8);
  mempool::resized(&memory, memory, 16);
  EXPECT_EQ(memory[1], 2);
  mempool::freed(&memory, memory);
  EXPECT_EQ(memory[2], 3);
  mempool::all_freed(&memory);
  mempool::end(&memory);
}

}  // namespace
