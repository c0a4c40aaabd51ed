// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the map of object ids against std::map.
#include <ashlar/detail/support/id_map.hpp>

#include <cstdint>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"

namespace {

using ashlar::detail::id_map;

TEST(id_map, behaves_as_a_map_under_random_inserts_and_erases) {
  for (const unsigned shift : {0u, 20u, 40u}) {
    std::mt19937_64 random(shift);
    id_map<int> map;
    std::map<std::uint64_t, int> oracle;
    for (int i = 0; i < ashlar_test::cases_of_build(15'000, 50'000); ++i) {
      const std::uint64_t id = (1 + random() % 3000) << shift;
      if (random() % 2 == 0) EXPECT_EQ(map.insert(id, i), oracle.emplace(id, i).second);
      else EXPECT_EQ(map.erase(id), oracle.erase(id) == 1);
      EXPECT_EQ(map.size(), oracle.size());
      const std::uint64_t other = (1 + random() % 3000) << shift;
      const int* found = map.find(other);
      const auto expected = oracle.find(other);
      ASSERT_EQ(found != nullptr, expected != oracle.end());
      if (found != nullptr) {
        EXPECT_EQ(*found, expected->second);
      }
    }
    std::map<std::uint64_t, int> all;
    map.for_each([&](std::uint64_t id, int value) { all.emplace(id, value); });
    EXPECT_EQ(all, oracle);
  }
}

TEST(id_map, an_empty_one_finds_nothing) {
  id_map<int> map;
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_FALSE(map.erase(1));
}

}  // namespace
