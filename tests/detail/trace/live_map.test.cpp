// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the live map against std::map.
#include <ashlar/detail/trace/live_map.hpp>

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::trace_io::live_map;
using ashlar::detail::trace_io::live_object;

live_object take(live_map& m, std::uint64_t address) {
  const live_object taken = m.take_out(address);
  if (taken.object != 0) m.give_back(taken.slot);
  return taken;
}

TEST(live_map, behaves_like_a_map_through_growth_and_churn) {
  live_map m;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(1);
  for (std::uint64_t i = 1; i < 100'000; ++i) {
    const std::uint64_t address = random() % 3000 * 16;
    ASSERT_EQ(m.contains(address), model.count(address) != 0);
    if (m.contains(address)) {
      EXPECT_EQ(take(m, address).object, model[address]);
      model.erase(address);
    } else {
      m.insert(address, i, 0);
      model[address] = i;
    }
    ASSERT_EQ(m.size(), model.size());
  }
  for (const auto& [address, object] : model) EXPECT_EQ(take(m, address).object, object);
  EXPECT_EQ(m.size(), 0U);
}

TEST(live_map, the_empty_map_has_nothing) {
  live_map m;
  EXPECT_FALSE(m.contains(16));
  EXPECT_EQ(take(m, 16).object, 0U);
}

TEST(live_map, keeps_the_thread) {
  live_map m;
  m.insert(16, 5, 3);
  m.insert(32, (std::uint64_t{1} << 40) - 1, (1U << 24) - 1);
  m.insert(48, 7, (1U << 24) + 1);
  EXPECT_EQ(take(m, 16).thread, 3U);
  const auto greatest = take(m, 32);
  EXPECT_EQ(greatest.object, (std::uint64_t{1} << 40) - 1);
  EXPECT_EQ(greatest.thread, (1U << 24) - 1);
  const auto beyond = take(m, 48);
  EXPECT_EQ(beyond.object, 7U);
  EXPECT_EQ(beyond.thread, 1U);
}

TEST(live_map, slots_are_of_one_live_object_each_and_used_again) {
  live_map m;
  std::map<std::uint32_t, std::uint64_t> owners;
  std::mt19937_64 random(2);
  for (std::uint64_t i = 1; i < 100'000; ++i) {
    const std::uint64_t address = random() % 5000 * 16;
    if (m.contains(address)) {
      EXPECT_EQ(owners.erase(take(m, address).slot), 1U);
      continue;
    }
    const std::uint32_t slot = m.insert(address, i, 0);
    EXPECT_TRUE(owners.emplace(slot, address).second);
    EXPECT_LT(slot, 5000U);
  }
}

TEST(live_map, an_object_that_is_taken_out_keeps_its_slot) {
  live_map m;
  const std::uint32_t slot = m.insert(16, 1, 0);
  EXPECT_EQ(m.take_out(16).slot, slot);
  EXPECT_NE(m.insert(32, 2, 0), slot);
  m.restore(16, slot);
  EXPECT_EQ(m.take_out(16).object, 1U);
}

}  // namespace
