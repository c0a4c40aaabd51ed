// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what a search keeps: occupied places, sums, and its limits.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/planner/greedy.hpp>
#include <ashlar/detail/planner/search_limits.hpp>
#include <ashlar/detail/planner/search_state.hpp>

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

namespace planner = ashlar::detail::planner;

TEST(subset_sums, agrees_with_all_stacks) {
  planner::splitmix random(8);
  for (int k = 0; k < 200; ++k) {
    const planner::units capacity = 40 + static_cast<planner::units>(random.below(300));
    const auto low = static_cast<planner::units>(random.below(20)),
               slack = static_cast<planner::units>(random.below(3));
    planner::subset_sums sums(capacity, low, slack);
    std::vector<bool> expected(static_cast<std::size_t>(capacity) + 400);
    for (planner::units p = low; p <= low + slack; ++p) expected[static_cast<std::size_t>(p)] = true;
    planner::units floor = low;
    for (int n = 0; n < 6; ++n) {
      floor += static_cast<planner::units>(random.below(30));
      const auto height = 1 + static_cast<planner::units>(random.below(90));
      sums.stack(floor, height);
      for (planner::units p = capacity; p >= floor; --p)
        if (expected[static_cast<std::size_t>(p)]) expected[static_cast<std::size_t>(p + height)] = true;
    }
    for (planner::units p = low; p <= capacity; ++p)
      ASSERT_EQ(sums.next(p) == p, expected[static_cast<std::size_t>(p)]) << k << ' ' << p;
  }
}

namespace planner = ashlar::detail::planner;

TEST(budget, ends_after_its_nodes) {
  planner::budget b(2);
  EXPECT_TRUE(b.spend());
  EXPECT_TRUE(b.spend());
  EXPECT_FALSE(b.spend());
  EXPECT_TRUE(b.exhausted());
}

TEST(budget, charges_what_its_slices_spend) {
  planner::budget b(5);
  planner::budget slice = b.slice(3);
  while (slice.spend()) {
  }
  b.charge(slice);
  EXPECT_EQ(b.spent(), 3u);
  EXPECT_FALSE(b.exhausted());
}

TEST(budget, ends_on_request) {
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(planner::budget(100, planner::budget::clock::time_point::max(), &stop).exhausted());
}

TEST(failed_states, tells_keys_of_equal_hash_apart) {
  planner::failed_states s;
  s.insert(1, {1, 2});
  EXPECT_TRUE(s.contains(1, {1, 2}));
  EXPECT_FALSE(s.contains(1, {1, 3}));
  EXPECT_FALSE(s.contains(1, {1}));
}

TEST(failed_states, keeps_all_while_it_grows_and_none_beyond_its_limit) {
  planner::failed_states s(6000);
  for (std::uint64_t k = 1; k <= 4000; ++k) s.insert(k % 100, {k, k});
  EXPECT_EQ(s.size(), 3000u);
  for (std::uint64_t k = 1; k <= 3000; ++k) EXPECT_TRUE(s.contains(k % 100, {k, k}));
  EXPECT_FALSE(s.contains(1, {3001, 3001}));
}

}  // namespace
