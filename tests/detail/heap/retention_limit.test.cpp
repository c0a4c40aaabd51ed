// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the free memory that several heaps retain within one limit.
#include <ashlar/detail/heap/retention_limit.hpp>

#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::retention_limit;
using ashlar::detail::retention_share;

TEST(retention_limit, leaves_to_one_what_others_do_not_keep) {
  retention_limit budget(100);
  retention_share one(budget), other(budget);
  EXPECT_EQ(one.most(), 100u);
  one.count(30);
  EXPECT_EQ(one.most(), 100u) << "its own does not count against it";
  EXPECT_EQ(other.most(), 70u);
  other.count(90);
  EXPECT_EQ(one.most(), 10u);
  other.count(300);
  EXPECT_EQ(one.most(), 0u) << "and not less";
  EXPECT_EQ(budget.kept(), 330u);
}

TEST(retention_limit, gets_back_what_one_has_taken_up_that_ends) {
  retention_limit budget(100);
  std::optional<retention_share> one(budget);
  one->count(60);
  EXPECT_EQ(budget.kept(), 60u);
  one.reset();
  EXPECT_EQ(budget.kept(), 0u);
  EXPECT_EQ(ashlar::detail::own_retention(7).most(), 7u);
}

TEST(retention_limit, adds_up_among_threads) {
  retention_limit budget(1000);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&budget, i] {
      retention_share mine(budget);
      for (std::size_t k = 0; k < 1000; ++k) mine.count(k * i % 77);
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(budget.kept(), 0u);
}

}  // namespace
