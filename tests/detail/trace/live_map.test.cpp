// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the live map against std::map.
#include <ashlar/detail/trace/live_map.hpp>

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::trace_io::live_map;

TEST(live_map, behaves_like_a_map_through_growth_and_churn) {
  live_map m;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(1);
  for (std::uint64_t i = 1; i < 100'000; ++i) {
    const std::uint64_t address = random() % 3000 * 16;
    ASSERT_EQ(m.contains(address), model.count(address) != 0);
    if (m.contains(address)) {
      EXPECT_EQ(m.take(address).object, model[address]);
      model.erase(address);
    } else {
      m.insert(address, {i, 0});
      model[address] = i;
    }
    ASSERT_EQ(m.size(), model.size());
  }
  for (const auto& [address, object] : model) EXPECT_EQ(m.take(address).object, object);
  EXPECT_EQ(m.size(), 0U);
}

TEST(live_map, the_empty_map_has_nothing) {
  live_map m;
  EXPECT_FALSE(m.contains(16));
  EXPECT_EQ(m.take(16).object, 0U);
}

TEST(live_map, keeps_the_thread) {
  live_map m;
  m.insert(16, {5, 3});
  m.insert(32, {(std::uint64_t{1} << 40) - 1, (1U << 24) - 1});
  m.insert(48, {7, (1U << 24) + 1});
  EXPECT_EQ(m.take(16).thread, 3U);
  const auto greatest = m.take(32);
  EXPECT_EQ(greatest.object, (std::uint64_t{1} << 40) - 1);
  EXPECT_EQ(greatest.thread, (1U << 24) - 1);
  const auto beyond = m.take(48);
  EXPECT_EQ(beyond.object, 7U);
  EXPECT_EQ(beyond.thread, 1U);
}

}  // namespace
