// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of live objects by slots, against a map.
#include "cli/advise/live_objects.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace {

using ashlar::cli::live_object;
using ashlar::cli::live_objects;

std::size_t levels_of(std::uint32_t id) { return id % (ashlar::cli::call_tree::most_levels + 1); }

/// Steps at random, of which each ends the object of a slot or makes one.
TEST(live_objects, behave_like_a_map_while_the_table_grows) {
  live_objects table;
  std::map<std::uint32_t, std::uint32_t> handles;  // by slot
  std::mt19937_64 random(5);
  EXPECT_EQ(table.find(1), live_objects::none);
  for (int step = 0; step < 60'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 20'000);
    const auto at = handles.find(id);
    if (at == handles.end()) {
      const std::uint32_t handle = handles[id] = table.add(id, levels_of(id));
      table[handle].size = id * std::uint64_t{3};
      table[handle].born_ns = ~std::uint64_t{id};
      for (std::uint32_t& chunk : table.chunks(handle)) chunk = id + 1;
      continue;
    }
    ASSERT_EQ(table.take_out(id), at->second);
    EXPECT_EQ(table.find(id), live_objects::none);
    table.give_back(at->second);
    handles.erase(at);
  }
  std::multiset<std::uint64_t> there, expected;
  std::set<std::uint32_t> taken;
  table.for_each([&](const live_object& o) { there.insert(o.size); });
  for (const auto& [id, handle] : handles) {
    ASSERT_EQ(table.find(id), handle);
    EXPECT_TRUE(taken.insert(handle).second) << "two objects in one row";
    EXPECT_EQ(table[handle].born_ns, ~std::uint64_t{id});
    ASSERT_EQ(table.chunks(handle).size(), levels_of(id));
    for (const std::uint32_t chunk : table.chunks(handle)) EXPECT_EQ(chunk, id + 1);
    expected.insert(id * std::uint64_t{3});
  }
  EXPECT_EQ(there, expected);
}

}  // namespace
