// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the clock for deadlines: it never goes back, and keeps up with a precise one.
#include <ashlar/os/random_bits.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::coarse_ms;

TEST(coarse_clock, never_goes_back) {
  std::uint32_t last = coarse_ms();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t now = coarse_ms();
    ASSERT_LT(now - last, 60'000u);
    last = now;
  }
}

TEST(coarse_clock, keeps_up) {
  const auto precise_start =
      std::chrono::steady_clock::now();  // around the other: this thread may wait between any two
  const std::uint32_t start = coarse_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::uint32_t passed = coarse_ms() - start;
  const auto precise = std::chrono::steady_clock::now() - precise_start;
  EXPECT_GE(passed, 80u);
  EXPECT_LE(passed, std::chrono::duration_cast<std::chrono::milliseconds>(precise).count() + 20);
}

}  // namespace
