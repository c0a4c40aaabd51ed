// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the timer counts each call in the right class and passes results through.
#include <ashlar/detail/replay/latency_timer.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::steady_ticks;
using latency_timer = ashlar::detail::latency_timer<steady_ticks>;

TEST(latency_timer, counts_allocations_and_frees_apart) {
  latency_timer t(0);
  int block = 0;
  EXPECT_EQ(t.allocation([&] { return &block; }), &block);
  t.deallocation([] {});
  std::uint64_t pause = 0;
  t.deallocation([&] {
    const std::uint64_t start = steady_ticks::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pause = steady_ticks::now() - start;
  });
  EXPECT_EQ(t.allocations().count(), 1u);
  EXPECT_EQ(t.deallocations().count(), 2u);
  EXPECT_GE(t.deallocations().max(), pause);
}

TEST(latency_timer, never_counts_less_than_nothing) {
  latency_timer t(~std::uint64_t{0});
  t.deallocation([] {});
  EXPECT_EQ(t.deallocations().max(), 0u);
}

}  // namespace
