// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the clock of ticks, and of the times that it counts.
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/study/latency_timer.hpp>

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

using ashlar::detail::clock_overhead;
using ashlar::detail::clock_step;
using ashlar::detail::tick_calibration;

TEST(tick_clock, ticks_do_not_go_backwards) {
  std::uint64_t last = steady_ticks::now();
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t now = steady_ticks::now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(tick_clock, calibration_measures_a_pause) {
  const tick_calibration<steady_ticks> calibration;
  const std::uint64_t start = steady_ticks::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double ns = static_cast<double>(steady_ticks::now() - start) * calibration.ns_per_tick();
  EXPECT_GE(ns, 4.5e6);
}

TEST(tick_clock, steps_and_overhead_are_small) {
  EXPECT_GT(clock_step<steady_ticks>(), 0u);
  const tick_calibration<steady_ticks> calibration;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_LT(static_cast<double>(clock_overhead<steady_ticks>()) * calibration.ns_per_tick(), 1e6);
}

}  // namespace
