// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the order of streams, with images of several streams.
#include <ashlar/detail/trace/merge.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::gave;
using ashlar_test::got;
using ashlar_test::image_builder;
using ashlar_test::read_all;

TEST(merge, streams_take_turns_by_time) {
  image_builder b;
  b.events(1, 0, {got(1, 16), got(4, 32)}).events(2, 0, {got(2, 48), got(3, 64)}).events(1, 1, {got(5, 80)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 5U);
  const std::vector<std::uint32_t> threads{0, 1, 1, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(all.events[i].time_ns, i + 1);
    EXPECT_EQ(all.events[i].thread, threads[i]);
    EXPECT_EQ(all.events[i].object, i + 1);
  }
}

/// Both times are equal, and the stream that allocates comes first by number.
TEST(merge, an_allocation_waits_for_the_release_of_its_address) {
  image_builder b;
  b.events(1, 0, {got(5, 16), got(6, 48)}).events(2, 0, {got(1, 16), gave(5, 16)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 4U);
  EXPECT_EQ(all.events[1].op, operation::free_);
  EXPECT_EQ(all.events[1].object, 1U);
  EXPECT_EQ(all.events[2].object, 2U);
  EXPECT_EQ(all.counts.lost_releases + all.counts.unknown_releases, 0U);
}

TEST(merge, a_clock_that_runs_ahead_is_put_right_within_the_skew) {
  image_builder b;
  b.events(1, 0, {got(100, 16)}).events(2, 0, {got(1, 16), gave(150, 16)});
  const auto within = read_all(b.image(), {.skew_ns = 50});
  ASSERT_EQ(within.events.size(), 3U);
  EXPECT_EQ(within.counts.lost_releases, 0U);
  EXPECT_EQ(within.events[2].time_ns, 150U) << "time never goes back";
  const auto beyond = read_all(b.image(), {.skew_ns = 49});
  EXPECT_EQ(beyond.counts.lost_releases, 1U);
}

TEST(merge, a_release_waits_for_the_allocation_it_belongs_to) {
  image_builder b;
  b.events(1, 0, {gave(5, 16)}).events(2, 0, {got(6, 16), got(7, 32)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.events[1].op, operation::free_);
  EXPECT_EQ(all.events[1].object, 1U);
  EXPECT_EQ(all.counts.unknown_releases, 0U);
}

TEST(merge, a_release_that_was_never_recorded_is_made_up_in_one_stream_too) {
  image_builder b;
  b.events(1, 0, {got(5, 16), got(6, 16), gave(7, 16)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 4U);
  EXPECT_EQ(all.events[1], (event{.time_ns = 6, .op = operation::free_, .object = 1}));
  EXPECT_EQ(all.counts.lost_releases, 1U);
  EXPECT_EQ(all.counts.live, 0U);
}

TEST(merge, streams_that_all_wait_for_each_other_go_on) {
  image_builder b;
  b.events(1, 0, {got(1, 16), got(10, 32)}).events(2, 0, {got(2, 32), got(10, 16)});
  const auto all = read_all(b.image());
  EXPECT_EQ(all.counts.lost_releases, 2U);
  EXPECT_EQ(all.events.size(), 6U);
}

/// Blocks move between threads at random; each stream's clock is off by up to the skew. In the merged order, every
/// object is allocated once and then released once.
TEST(merge, skewed_clocks_never_break_the_life_of_an_object) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::map<std::uint32_t, std::vector<record>> streams;
    std::vector<std::uint64_t> live, free_list;
    for (std::uint64_t a = 1; a <= 20; ++a) free_list.push_back(a * 16);
    const std::uint64_t offset[3] = {0, random() % 40, random() % 40};
    for (std::uint64_t time = 100; time < 40'100; time += 40 + random() % 60) {
      const auto thread = static_cast<std::uint32_t>(random() % 3);
      auto& from = free_list.empty() || (!live.empty() && random() % 2 == 0) ? live : free_list;
      auto& to = &from == &live ? free_list : live;
      const std::uint64_t at = time + offset[thread];
      streams[thread].push_back(&from == &live ? gave(at, from.back()) : got(at, from.back()));
      to.push_back(from.back());
      from.pop_back();
    }
    image_builder b;
    for (auto& [id, records] : streams) b.events(id, 0, records);
    const auto all = read_all(b.image(), {.skew_ns = 100});
    EXPECT_FALSE(all.error);
    EXPECT_EQ(all.counts.lost_releases + all.counts.unknown_releases, 0U) << seed;
    EXPECT_EQ(all.counts.live, live.size());
  }
}

TEST(merge, a_thousand_streams_of_one_record_each_are_read) {
  image_builder b;
  for (std::uint32_t i = 0; i < 1000; ++i) b.events(0x8000'0000 + i, 0, {got(1000 - i, 16 + i * 16)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(all.events.begin(), all.events.end(),
                             [](const event& x, const event& y) { return x.time_ns < y.time_ns; }));
}

}  // namespace
