// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the limiting adaptor and of budgets: charges of every call, trees, handlers that free memory, and threads.
#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::budget;
using ashlar::limiting;
using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::shared_budget;
using ashlar_test::counting_resource;
using counted = resource_ref<counting_resource<>>;

static_assert(ashlar::thread_safe_resource<limiting<new_delete_resource, shared_budget>>);
static_assert(!ashlar::thread_safe_resource<limiting<resource_ref<ashlar::buffer_resource>, shared_budget>>);
// A pointer to the budget, and the bytes charged.
static_assert(sizeof(limiting<new_delete_resource>) == 2 * sizeof(void*));

struct tight : ashlar_test::conformance_defaults {
  static constexpr bool bounded = true;
  budget limits{5000};
  limiting<new_delete_resource> resource{limits};
};

TEST(limiting, a_refused_request_never_reaches_the_upstream_and_a_failed_one_is_not_charged) {
  counting_resource<> upstream;
  budget limits(100);
  limiting<counted> r(limits, upstream);
  EXPECT_EQ(r.try_allocate(101, 8), nullptr);
  EXPECT_EQ(upstream.allocations() + upstream.refusals(), 0U);
  upstream.fail_at(0);
  EXPECT_EQ(r.try_allocate(50, 8), nullptr);
  EXPECT_EQ(limits.used(), 0U);
#if defined(__cpp_exceptions)
  upstream.fail_at(0);
  EXPECT_THROW(static_cast<void>(r.allocate(50, 8)), ashlar_test::injected_failure);
  EXPECT_EQ(limits.used(), 0U);
#endif
}

TEST(limiting, a_block_that_grows_is_charged_for_what_it_grows) {
  budget limits(500);
  limiting<ashlar_test::roomy> r(limits);
  void* const p = r.allocate(100, 8);
  EXPECT_TRUE(r.try_expand(p, 100, 400, 8));
  EXPECT_EQ(limits.used(), 400U);
  EXPECT_FALSE(r.try_expand(p, 400, 501, 8)) << "the budget refuses";
  limits.set_max_bytes(budget::unlimited);
  EXPECT_FALSE(r.try_expand(p, 400, 2000, 8)) << "the upstream refuses";
  EXPECT_EQ(limits.used(), 400U);
  EXPECT_TRUE(r.try_expand(p, 400, 50, 8));
  EXPECT_EQ(limits.used(), 50U);
  r.deallocate(p, 50, 8);
}

TEST(limiting, a_block_may_shrink_where_the_limit_was_lowered_below_what_is_used) {
  budget limits(1000);
  limiting<ashlar_test::roomy> memory(limits);
  void* const p = memory.allocate(100, 8);
  limits.set_max_bytes(50);
  EXPECT_FALSE(memory.try_expand(p, 100, 101, 8));
  EXPECT_TRUE(memory.try_expand(p, 100, 60, 8)) << "nothing is added";
  EXPECT_EQ(limits.used(), 60U);
  memory.deallocate(p, 60, 8);
  EXPECT_EQ(limits.used(), 0U);
}

TEST(limiting, release_and_the_end_take_back_everything) {
  budget limits(1000);
  ashlar::inline_buffer<1024> buffer;
  {
    limiting<resource_ref<ashlar::buffer_resource>> r(limits, resource_ref<ashlar::buffer_resource>(buffer));
    static_cast<void>(r.allocate(500, 8));
    r.release();
    EXPECT_EQ(limits.used(), 0U);
    static_cast<void>(r.allocate(300, 8));
  }
  EXPECT_EQ(limits.used(), 0U);
}

// A cache that frees its memory when a budget demands it.
struct cache {
  limiting<new_delete_resource>& memory;
  std::vector<void*> blocks;

  static budget::answer shrink(const budget::refusal&, void* context) noexcept {
    auto& self = *static_cast<cache*>(context);
    if (self.blocks.empty()) return budget::answer::give_up;
    self.memory.deallocate(self.blocks.back(), 100, 8);
    self.blocks.pop_back();
    return budget::answer::retry;
  }
};

TEST(limiting, a_handler_may_free_through_the_very_adaptor) {
  budget limits(1000);
  limiting<new_delete_resource> r(limits);
  cache c{r, {}};
  for (int i = 0; i < 10; ++i) c.blocks.push_back(r.allocate(100, 8));
  limits.on_exceeded(&cache::shrink, &c);
  void* const p = r.allocate(250, 8);
  EXPECT_EQ(c.blocks.size(), 7U);
  EXPECT_EQ(limits.used(), 950U);
  r.deallocate(p, 250, 8);
  EXPECT_EQ(r.try_allocate(1001, 8), nullptr);
  EXPECT_TRUE(c.blocks.empty());
}

const bool tested = ashlar_test::conforms<tight>("limiting_to_little");

TEST(budget, a_random_tree_is_never_overdrawn) {
  budget root(1000);
  budget middle(700, &root);
  std::array<budget, 3> leaves{budget(400, &middle), budget(500, &middle), budget(600, &root)};
  std::array<std::size_t, 3> used{};
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t at = random() % 3;
    const std::size_t bytes = random() % 200;
    const std::size_t in_middle = used[0] + used[1];
    const bool fits = used[at] + bytes <= leaves[at].max_bytes() && (at == 2 || in_middle + bytes <= 700) &&
                      in_middle + used[2] + bytes <= 1000;
    ASSERT_EQ(leaves[at].charge(bytes), fits);
    if (fits) used[at] += bytes;
    else leaves[at].uncharge(used[at] / 2), used[at] -= used[at] / 2;
    ASSERT_EQ(root.used(), used[0] + used[1] + used[2]);
    ASSERT_TRUE(root.invariant() && middle.invariant() && leaves[at].invariant());
  }
  for (std::size_t i = 0; i < 3; ++i) leaves[i].uncharge(used[i]);
}

struct helper {
  budget* where;
  std::size_t frees;
  unsigned attempts = 0;
  std::size_t asked_for = 0;
  const budget* exceeded = nullptr;

  static budget::answer help(const budget::refusal& r, void* context) noexcept {
    auto& self = *static_cast<helper*>(context);
    self.attempts = r.attempt;
    self.asked_for = r.bytes;
    self.exceeded = &r.exceeded;
    if (self.frees == 0) return budget::answer::give_up;
    self.where->uncharge(self.frees);
    return budget::answer::retry;
  }
};

TEST(budget, a_handler_frees_and_asks_again) {
  budget root(100);
  budget child(budget::unlimited, &root);
  ASSERT_TRUE(child.charge(90));
  helper h{&child, 10};
  root.on_exceeded(&helper::help, &h);
  EXPECT_TRUE(child.charge(40));
  EXPECT_EQ(h.attempts, 3U);
  EXPECT_EQ(h.asked_for, 40U);
  EXPECT_EQ(h.exceeded, &root) << "it names who refused";
  EXPECT_EQ(child.used(), 100U);
  h.frees = 0;
  EXPECT_FALSE(child.charge(1));
  child.uncharge(100);
}

TEST(budget, the_nearest_handler_above_is_asked_and_one_that_never_helps_is_asked_so_often_only) {
  budget root;
  budget child(10, &root);
  unsigned calls = 0;
  root.on_exceeded(
      [](const budget::refusal&, void* n) noexcept {
        ++*static_cast<unsigned*>(n);
        return budget::answer::retry;
      },
      &calls);
  EXPECT_FALSE(child.charge(11));
  EXPECT_EQ(calls, budget::most_attempts);
}

TEST(budget, a_limit_may_be_raised_and_lowered) {
  budget b(10);
  EXPECT_TRUE(b.charge(10));
  b.set_max_bytes(5);
  EXPECT_FALSE(b.charge(0)) << "it is overdrawn";
  EXPECT_EQ(b.available(), 0U);
  b.set_max_bytes(20);
  EXPECT_TRUE(b.charge(10));
  b.uncharge(20);
}

TEST(budget, a_soft_limit_tells_once_until_it_is_below_again) {
  budget b(100);
  int told = 0;
  b.on_soft_limit(
      50,
      [](budget& which, void* n) noexcept {
        EXPECT_GT(which.used(), 50U);
        ++*static_cast<int*>(n);
      },
      &told);
  EXPECT_TRUE(b.charge(50));
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(b.charge(1));
  EXPECT_TRUE(b.charge(9));
  EXPECT_EQ(told, 1);
  b.uncharge(20);
  EXPECT_TRUE(b.charge(30));
  EXPECT_EQ(told, 2);
  b.uncharge(70);
}

TEST(budget, threads_never_overdraw_and_lose_nothing) {
  constexpr std::size_t limit = 1000;
  shared_budget root(limit);
  std::array<shared_budget, 2> teams{shared_budget(700, &root), shared_budget(700, &root)};
  std::atomic<std::size_t> held = 0;
  ashlar_test::on_threads(4, [&](std::size_t t) {
    std::mt19937 random(static_cast<unsigned>(t));
    for (int i = 0; i < (ashlar_test::is_slow ? 5000 : 50000); ++i) {
      const std::size_t bytes = random() % 400;
      if (!teams[t % 2].charge(bytes)) continue;
      EXPECT_LE(held += bytes, limit);
      held -= bytes;
      teams[t % 2].uncharge(bytes);
    }
  });
  EXPECT_EQ(root.used(), 0U);
  EXPECT_EQ(teams[0].used(), 0U);
  EXPECT_LE(root.peak(), limit);
  EXPECT_LE(teams[0].peak(), 700U);
}

TEST(budget, what_is_available_is_right_while_the_limit_changes) {
  shared_budget limits(100);
  ASSERT_TRUE(limits.charge(60));
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (int i = 0; i < (ashlar_test::is_slow ? 20'000 : 200'000); ++i) limits.set_max_bytes(i % 2 == 0 ? 50 : 100);
    stop = true;
  });
  while (!stop) ASSERT_LE(limits.available(), 40U);
  other.join();
  limits.uncharge(60);
}

// One thread lowers the use while another passes the soft limit: the handler must be armed again.
TEST(budget, a_soft_limit_reports_again_after_any_race) {
  shared_budget limits(1000);
  std::atomic<int> told = 0;
  limits.on_soft_limit(
      100, [](shared_budget&, void* count) noexcept { ++*static_cast<std::atomic<int>*>(count); }, &told);
  const int rounds = ashlar_test::is_slow ? 1000 : 20'000;
  std::atomic<int> begun = 0;
  std::atomic<int> done = 0;
  std::thread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (begun < round) std::this_thread::yield();
      limits.uncharge(30);
      done = round;
    }
  });
  int missed = 0;
  for (int round = 1; round <= rounds; ++round) {
    EXPECT_TRUE(limits.charge(90));
    begun = round;
    EXPECT_TRUE(limits.charge(20));
    while (done < round) std::this_thread::yield();
    const int before = told;
    EXPECT_TRUE(limits.charge(30)) << "from 80 to 110";
    missed += told == before ? 1 : 0;
    limits.uncharge(110);
  }
  other.join();
  EXPECT_EQ(missed, 0);
}

TEST(budget_death, an_account_must_be_right) {
  if constexpr (!ashlar_test::is_checked) GTEST_SKIP() << "checked builds look at it";
  ASHLAR_EXPECT_DEATH(
      {
        budget b(10);
        b.uncharge(1);
      },
      "ashlar: precondition: uncharged a budget by more than was charged to it");
  ASHLAR_EXPECT_DEATH(
      {
        budget b(10);
        static_cast<void>(b.charge(1));
      },
      "ashlar: precondition: ended a budget while memory was charged to it");
}

}  // namespace
