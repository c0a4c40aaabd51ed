// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the spare extents of a heap, at made-up addresses.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/spare_extents.hpp>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::spare_extents;
using ashlar::detail::window;
using ashlar::detail::window_bytes;

constexpr std::size_t page = 4096;

std::byte* address(std::size_t number) { return reinterpret_cast<std::byte*>(number * window_bytes); }

window extent(std::size_t number, std::size_t bytes) {
  return window::of(address(number), 0, bytes, window_bytes, false);
}

TEST(spare_extents, finds_the_smallest_that_fits_and_wastes_little) {
  spare_extents spares;
  EXPECT_EQ(spares.best_for(page, page), spare_extents::none);
  spares.add(extent(1, 90 * page));
  spares.add(extent(2, 82 * page));
  spares.add(extent(3, 81 * page));
  spares.add(extent(5, 81 * page));
  EXPECT_EQ(spares.best_for(81 * page, window_bytes), 3u) << "the newest of its size";
  EXPECT_EQ(spares.best_for(81 * page, 2 * window_bytes), 1u) << "the only one that is aligned";
  EXPECT_EQ(spares.best_for(80 * page, window_bytes), 3u);
  const std::size_t least = ashlar_test::is_checked ? 72 : 41;  // 81 is 72 and an eighth, or twice as much
  EXPECT_EQ(spares.best_for(least * page, window_bytes), 3u);
  EXPECT_EQ(spares.best_for((least - 1) * page, window_bytes), spare_extents::none);
  EXPECT_EQ(spares.best_for(91 * page, window_bytes), spare_extents::none);
  EXPECT_TRUE(spares.invariant());
}

TEST(spare_extents, finds_the_nearest_above_or_else_below) {
  spare_extents spares;
  EXPECT_EQ(spares.nearest_to(page, page), spare_extents::none);
  spares.add(extent(1, 10 * page));
  spares.add(extent(2, 20 * page));
  spares.add(extent(3, 40 * page));
  spares.add(extent(4, 50 * page));
  EXPECT_EQ(spares.nearest_to(30 * page, window_bytes), 2u);
  EXPECT_EQ(spares.nearest_to(30 * page, 2 * window_bytes), 3u);
  EXPECT_EQ(spares.nearest_to(60 * page, 8 * window_bytes), 3u) << "it is moved, and needs no alignment";
  EXPECT_EQ(spares.nearest_to(30 * page, 8 * window_bytes), 1u);
}

TEST(spare_extents, keeps_the_order_and_tells_the_old_from_the_new) {
  spare_extents spares;
  for (std::size_t i = 1; i <= spare_extents::most; ++i) spares.add(extent(i, i * page));
  EXPECT_TRUE(spares.is_full());
  EXPECT_EQ(spares.bytes(), spare_extents::most * (spare_extents::most + 1) / 2 * page);
  EXPECT_EQ(spares.end_epoch(), 0u);
  EXPECT_EQ(spares.find(address(2)), 1u);
  EXPECT_EQ(spares.remove(1).start, address(2));
  EXPECT_EQ(spares.find(address(2)), spare_extents::none);
  EXPECT_EQ(spares[1].start, address(3));
  spares.add(extent(100, page));
  EXPECT_EQ(spares.end_epoch(), spare_extents::most - 1);
  EXPECT_EQ(spares.end_epoch(), spare_extents::most);
  EXPECT_TRUE(spares.invariant());
  spares.clear();
  EXPECT_TRUE(spares.count() == 0 && spares.bytes() == 0 && spares.end_epoch() == 0 && spares.invariant());
}

}  // namespace
