// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the taken bytes and of the skyline, against plain lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/detail/planner/occupancy.hpp>
#include <ashlar/detail/planner/splitmix.hpp>

namespace {

namespace planner = ashlar::detail::planner;

TEST(occupancy, finds_what_a_plain_list_of_rectangles_finds) {
  struct rectangle {
    std::uint32_t first, last;
    planner::byte_range bytes;
  };
  planner::splitmix random(4);
  planner::occupancy taken(37);
  std::vector<rectangle> all;
  std::vector<const planner::range_list*> lists;
  std::vector<planner::range_cursor> cursors;
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
    ASSERT_EQ(planner::lowest_fit(lists, 0, size, alignment, cursors), expected) << k;
    all.push_back({first, last, {expected, expected + size}});
    taken.insert(first, last, all.back().bytes);
  }
}

TEST(skyline, knows_the_greatest_height_of_any_range) {
  planner::splitmix random(3);
  for (const std::uint32_t sections : {1u, 2u, 7u, 64u, 100u}) {
    planner::skyline line(sections);
    std::vector<std::uint64_t> plain(sections);
    for (int k = 0; k < 500; ++k) {
      const auto first = static_cast<std::uint32_t>(random.below(sections));
      const auto last = static_cast<std::uint32_t>(first + 1 + random.below(sections - first));
      const auto from = plain.begin() + static_cast<std::ptrdiff_t>(first);
      const auto to = plain.begin() + static_cast<std::ptrdiff_t>(last);
      const std::uint64_t most = *std::max_element(from, to);
      ASSERT_EQ(line.over(first, last), most);
      line.raise(first, last, most + static_cast<std::uint64_t>(k % 3));
      std::fill(from, to, most + static_cast<std::uint64_t>(k % 3));
    }
  }
}

}  // namespace
