// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a timeline keeps peaks, bounds its points and carries values through spans without events.
#include <ashlar/study/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace {

using ashlar::study::timeline;

TEST(timeline, never_has_more_points_than_allowed_and_never_loses_a_peak) {
  std::mt19937_64 random(3);
  timeline t(64);
  std::uint64_t now = 0, peak = 0;
  for (int i = 0; i < 20000; ++i) {
    now += random() % 100000;
    const std::uint64_t value = random() % 1000000;
    peak = std::max(peak, value);
    t.record(now, value);
    EXPECT_LE(t.points().size(), 64u);
  }
  std::uint64_t seen = 0;
  for (const timeline::point& p : t.points()) {
    EXPECT_LE(p.least, p.greatest);
    seen = std::max(seen, p.greatest);
  }
  EXPECT_EQ(seen, peak);
  EXPECT_GE(t.points().size(), 32u);
}

TEST(timeline, silence_keeps_the_last_value) {
  timeline t(8);
  t.record(0, 5);
  t.record(4 * t.span_ns(), 9);
  const auto points = t.points();
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points[3].least, 5u);
  EXPECT_EQ(points[3].greatest, 5u);
  EXPECT_EQ(points[4].greatest, 9u);
}

TEST(timeline, the_end_of_time_is_reached) {
  timeline t(8);
  t.record(1, 1);
  t.record(~std::uint64_t{0}, 2);
  EXPECT_LE(t.points().size(), 8u);
  EXPECT_EQ(t.points().back().greatest, 2u);
}

}  // namespace
