// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of free memory that is kept within one bound for several.
#include <ashlar/detail/heap/keep_budget.hpp>

#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::keep_budget;
using ashlar::detail::keep_share;

TEST(keep_budget, leaves_to_one_what_others_do_not_keep) {
  keep_budget budget(100);
  keep_share one(budget), other(budget);
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

TEST(keep_budget, gets_back_what_one_has_taken_up_that_ends) {
  keep_budget budget(100);
  std::optional<keep_share> one(budget);
  one->count(60);
  EXPECT_EQ(budget.kept(), 60u);
  one.reset();
  EXPECT_EQ(budget.kept(), 0u);
  EXPECT_EQ(ashlar::detail::whole_keep(7).most(), 7u);
}

TEST(keep_budget, adds_up_among_threads) {
  keep_budget budget(1000);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&budget, i] {
      keep_share mine(budget);
      for (std::size_t k = 0; k < 1000; ++k) mine.count(k * i % 77);
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(budget.kept(), 0u);
}

}  // namespace
