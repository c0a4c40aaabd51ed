// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that ticks ascend and convert to time.
#include <ashlar/detail/replay/tick_clock.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::clock_overhead;
using ashlar::detail::clock_step;
using ashlar::detail::steady_ticks;
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
