// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the table of live objects by slots against a map.
#include "cli/advise/live_objects.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace {

using ashlar::cli::live_objects;

std::size_t object_levels(std::uint32_t id) { return id % (ashlar::cli::call_tree::most_levels + 1); }

class checked_objects {
public:
  void add(std::uint32_t id) {
    const std::uint32_t slot = table_.add(id, object_levels(id));
    EXPECT_TRUE(taken_.insert(slot).second);
    table_[slot].size = id * std::uint64_t{3};
    table_[slot].born_ns = ~std::uint64_t{id};
    for (std::uint32_t& chunk : table_.chunks(slot)) chunk = id + 1;
    slots_[id] = slot;
  }
  void remove(std::uint32_t id) {
    check(id);
    EXPECT_EQ(table_.take_out(id), slots_[id]);
    EXPECT_EQ(table_.find(id), live_objects::none);
    taken_.erase(slots_[id]);
    table_.give_back(slots_[id]);
    slots_.erase(id);
  }
  void check(std::uint32_t id) {
    const std::uint32_t slot = table_.find(id);
    ASSERT_EQ(slot, slots_[id]);
    EXPECT_EQ(table_[slot].size, id * std::uint64_t{3});
    EXPECT_EQ(table_[slot].born_ns, ~std::uint64_t{id});
    ASSERT_EQ(table_.chunks(slot).size(), object_levels(id));
    for (const std::uint32_t chunk : table_.chunks(slot)) EXPECT_EQ(chunk, id + 1);
  }
  void check_all() {
    for (const auto& [id, slot] : slots_) check(id);
    std::multiset<std::uint64_t> there, expected;
    table_.for_each([&](const ashlar::cli::live_object& o) { there.insert(o.size); });
    for (const auto& [id, slot] : slots_) expected.insert(id * std::uint64_t{3});
    EXPECT_EQ(there, expected);
  }
  [[nodiscard]] bool has(std::uint32_t id) const { return slots_.count(id) != 0; }

private:
  live_objects table_;
  std::map<std::uint32_t, std::uint32_t> slots_;
  std::set<std::uint32_t> taken_;
};

TEST(live_objects, behave_like_a_map) {
  checked_objects m;
  std::mt19937_64 random(5);
  for (int step = 0; step < 60'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 20'000);
    if (m.has(id)) m.remove(id);
    else m.add(id);
  }
  m.check_all();
}

TEST(live_objects, are_all_kept_while_the_table_grows) {
  checked_objects m;
  for (std::uint32_t i = 0; i < 40'000; ++i) m.add(i);
  m.check_all();
  for (std::uint32_t i = 0; i < 40'000; i += 2) m.remove(i);
  m.check_all();
}

TEST(live_objects, an_empty_table_has_none) {
  live_objects table;
  EXPECT_EQ(table.find(1), live_objects::none);
  table.for_each([](const ashlar::cli::live_object&) { ADD_FAILURE(); });
}

}  // namespace
