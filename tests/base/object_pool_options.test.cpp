// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of pools of objects: defaults, and their effect.
#include <ashlar/base/options.hpp>

#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>

namespace {

using ashlar::object_pool_options;

TEST(object_pool_options, have_no_limit_but_that_of_a_slot_number) {
  constexpr object_pool_options chosen{};
  EXPECT_EQ(chosen.max_count, ashlar::detail::slot_word::closed);
  EXPECT_EQ(chosen.growth_count, 0u);
  EXPECT_TRUE(std::is_aggregate_v<object_pool_options>);
}

struct growing_traits : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = ashlar::growing;
};

TEST(object_pool_options, bound_both_pools_of_objects) {
  constexpr object_pool_options two{.max_count = 2, .growth_count = 1};
  ashlar::object_pool<int, growing_traits> objects(two);
  int* const held[] = {objects.try_acquire(1), objects.try_acquire(2), objects.try_acquire(3)};
  EXPECT_TRUE(held[0] != nullptr && held[1] != nullptr && held[2] == nullptr);
  for (int* const each : {held[0], held[1]}) objects.release(each);
  ashlar::intrusive_pool<int> counted(two);
  EXPECT_EQ(counted.max_size(), 2u);
  EXPECT_EQ(counted.growth_steps(), 0u);
}

}  // namespace
