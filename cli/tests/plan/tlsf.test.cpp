// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the model of a two-level segregated fit heap: the addresses of the paper, and no overlap.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "cli/plan/tlsf.hpp"

namespace {

using ashlar::cli::tlsf_model;

TEST(plan_tlsf, takes_the_end_when_nothing_is_free) {
  tlsf_model heap;
  EXPECT_EQ(heap.allocate(100, 16), 0u);
  EXPECT_EQ(heap.allocate(100, 16), 112u) << "a hundred bytes and a header, in granules";
  EXPECT_EQ(heap.peak(), 224u);
}

TEST(plan_tlsf, unites_free_neighbours_and_splits_what_is_too_large) {
  tlsf_model heap;
  const std::uint64_t a = heap.allocate(100, 16), b = heap.allocate(100, 16), c = heap.allocate(100, 16);
  heap.deallocate(a);
  heap.deallocate(c);
  heap.deallocate(b);
  EXPECT_EQ(heap.allocate(300, 16), 0u);
  heap.deallocate(0);
  EXPECT_EQ(heap.allocate(40, 16), 0u);
  EXPECT_EQ(heap.allocate(40, 16), 48u);
  EXPECT_EQ(heap.peak(), 336u);
}

TEST(plan_tlsf, wastes_what_rounding_to_the_next_list_wastes) {
  tlsf_model heap;
  const std::uint64_t hole = heap.allocate(1990, 16);
  heap.allocate(10, 16);
  heap.deallocate(hole);
  EXPECT_NE(heap.allocate(1990, 16), hole) << "its list also holds smaller ones, so it is not looked into";
  EXPECT_EQ(heap.allocate(1950, 16), hole);
}

TEST(plan_tlsf, keeps_blocks_apart) {
  std::mt19937_64 random(1);
  tlsf_model heap;
  std::map<std::uint64_t, std::uint64_t> live;  // from, to
  for (int k = 0; k < 20'000; ++k) {
    if (live.size() < 200 && random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % (std::uint64_t{16} << random() % 12);
      const std::uint64_t alignment = std::uint64_t{1} << random() % 10;
      const std::uint64_t at = heap.allocate(bytes, alignment);
      ASSERT_EQ(at % alignment, 0u);
      const auto next = live.lower_bound(at);
      ASSERT_TRUE(next == live.end() || at + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->second <= at);
      ASSERT_LE(at + bytes, heap.peak());
      live[at] = at + bytes;
    } else if (!live.empty()) {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      heap.deallocate(victim->first);
      live.erase(victim);
    }
  }
}

}  // namespace
