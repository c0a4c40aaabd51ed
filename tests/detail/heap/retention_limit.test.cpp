// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the free memory that several heaps retain within one limit, and of the bytes that freeing threads may leave
// waiting.
#include <ashlar/detail/heap/retention_limit.hpp>

#include <atomic>
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

TEST(retention_limit, changes) {
  retention_limit budget(100);
  retention_share one(budget), other(budget);
  other.count(60);
  budget.set(200);
  EXPECT_EQ(one.most(), 140u);
  budget.set(50);
  EXPECT_EQ(one.most(), 0u) << "what is counted stays";
  EXPECT_FALSE(budget.try_count(1));
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

constexpr std::size_t mib = std::size_t{1} << 20;

struct without_budget {};

struct with_budget {
  [[nodiscard]] with_budget& get() noexcept { return *this; }  // as the reference to a shared extent map
  [[nodiscard]] ashlar::detail::retention_limit& budget() noexcept { return *limit; }
  ashlar::detail::retention_limit* limit;
};

TEST(transit_limit, rises_by_steps_to_what_the_heap_may_retain) {
  without_budget upstream;
  ashlar::detail::transit_limit<without_budget> limit(3 * mib);
  EXPECT_FALSE(limit.has_risen());
  EXPECT_TRUE(limit.admits(1000, 0, upstream));
  EXPECT_FALSE(limit.has_risen()) << "the first step is its own";
  EXPECT_TRUE(limit.admits(mib - 1000, 1000, upstream));
  EXPECT_FALSE(limit.has_risen());
  EXPECT_TRUE(limit.admits(1000, mib, upstream));
  EXPECT_TRUE(limit.has_risen());
  EXPECT_TRUE(limit.admits(1000, 2 * mib, upstream));
  EXPECT_FALSE(limit.admits(1000, 3 * mib, upstream));
  EXPECT_TRUE(limit.admits(mib, 2 * mib, upstream)) << "what has been taken again leaves room";
  limit.fall(upstream);
  EXPECT_FALSE(limit.has_risen());
}

TEST(transit_limit, admits_nothing_that_may_not_be_retained) {
  without_budget upstream;
  ashlar::detail::transit_limit<without_budget> none(0), little(1000);
  EXPECT_FALSE(none.admits(16, 0, upstream));
  EXPECT_FALSE(little.admits(1001, 0, upstream));
  EXPECT_TRUE(little.admits(1000, 0, upstream));
  EXPECT_FALSE(little.admits(16, 1000, upstream));
}

TEST(transit_limit, counts_all_steps_but_the_first_in_a_common_budget) {
  ashlar::detail::retention_limit common(2 * mib);
  with_budget upstream{&common};
  ashlar::detail::transit_limit<with_budget> one(8 * mib), other(8 * mib);
  EXPECT_TRUE(one.admits(mib, 0, upstream));
  EXPECT_TRUE(other.admits(mib, 0, upstream));
  EXPECT_EQ(common.kept(), 0u);
  EXPECT_TRUE(one.admits(mib, mib, upstream));
  EXPECT_TRUE(other.admits(mib, mib, upstream));
  EXPECT_EQ(common.kept(), 2 * mib);
  EXPECT_FALSE(one.admits(mib, 2 * mib, upstream)) << "the others wait for as much";
  other.fall(upstream);
  EXPECT_EQ(common.kept(), mib);
  EXPECT_TRUE(one.admits(mib, 2 * mib, upstream));
  one.fall(upstream);
  EXPECT_EQ(common.kept(), 0u);
}

TEST(transit_limit, keeps_its_account_among_threads) {
  ashlar::detail::retention_limit common(5 * mib);
  with_budget upstream{&common};
  ashlar::detail::transit_limit<with_budget> limit(16 * mib);
  std::atomic<std::size_t> waiting = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round)
        if (limit.admits(1000, waiting.load(), upstream)) waiting += 1000;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_LE(waiting.load(), 6 * mib + 4 * 1000) << "each thread may have looked before the others added theirs";
  EXPECT_GT(waiting.load(), 5 * mib);
  EXPECT_EQ(common.kept(), 5 * mib);
  limit.fall(upstream);
  EXPECT_EQ(common.kept(), 0u);
}

}  // namespace
