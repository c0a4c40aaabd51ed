// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the first generations of maps are far apart, and leave enough of them.
#include <ashlar/detail/slots/map_generation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace {

TEST(map_generation, of_a_thousand_maps_are_far_apart) {
  std::vector<std::uint32_t> all(1000);
  std::generate(all.begin(), all.end(), &ashlar::detail::next_map_generation);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_GT(all[i] - all[i - 1], (1u << 29) / 1000);
}

TEST(map_generation, leave_a_slot_half_of_all_generations) {
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t first = ashlar::detail::next_map_generation();
    ASSERT_TRUE(first >= 1 && first <= std::uint32_t{1} << 31) << first;
  }
}

}  // namespace
