// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the interval structure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/plan/occupancy.hpp>
#include <ashlar/plan/portfolio.hpp>

namespace {

namespace plan = ashlar::plan;

TEST(occupancy, finds_what_a_plain_list_of_rectangles_finds) {
  struct rectangle {
    std::uint32_t first, last;
    plan::byte_range bytes;
  };
  plan::splitmix random(4);
  plan::occupancy taken(37);
  std::vector<rectangle> all;
  std::vector<const plan::range_list*> lists;
  std::vector<plan::detail::range_cursor> cursors;
  for (int k = 0; k < 600; ++k) {
    const auto first = static_cast<std::uint32_t>(random.below(37));
    const auto last = first + 1 + static_cast<std::uint32_t>(random.below(37 - first));
    const std::uint64_t size = 1 + random.below(9), alignment = std::uint64_t{1} << random.below(4);
    lists.clear();
    taken.collect(first, last, lists);
    std::uint64_t expected = 0;
    const auto hit = [&](const rectangle& r) {
      return r.first < last && first < r.last && r.bytes.begin < expected + size && expected < r.bytes.end;
    };
    while (std::any_of(all.begin(), all.end(), hit)) expected += alignment;
    ASSERT_EQ(plan::lowest_fit(lists, 0, size, alignment, cursors), expected) << k;
    all.push_back({first, last, {expected, expected + size}});
    taken.insert(first, last, all.back().bytes);
  }
}

}  // namespace
