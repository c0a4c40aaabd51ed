// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of policies and of options: threads, exhaustion, growth, what is retained, limits.
#include <cstddef>
#include <mutex>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/growth.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/pool_set.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::any_thread;
using ashlar::expect_growth;
using ashlar::fixed_growth;
using ashlar::max_size;
using ashlar::one_thread;
using ashlar::proportional_growth;
using ashlar::retain_policy;
using upstream_ref = ashlar::resource_ref<ashlar_test::counting_resource<>>;

struct no_policy {};
static_assert(ashlar::policy::threads<any_thread<std::mutex>> && !ashlar::policy::threads<no_policy> &&
              !ashlar::policy::threads<std::mutex>);
static_assert(!one_thread::is_shared && any_thread<>::is_shared && any_thread<ashlar::null_lock>::is_shared);
static_assert(std::is_empty_v<one_thread::lock_type> && std::is_same_v<any_thread<>::lock_type, ashlar::spin_lock> &&
              std::is_same_v<any_thread<std::mutex>::lock_type, std::mutex>);
static_assert(ashlar::throw_when_exhausted::throws && !ashlar::null_when_exhausted::throws &&
              !ashlar::policy::exhaustion<no_policy>);

struct may_throw {
  [[nodiscard]] std::size_t next(std::size_t) const { return 1; }
};
struct wrong_type {
  [[nodiscard]] int next(std::size_t) const noexcept { return 1; }
};
static_assert(!ashlar::policy::growth<may_throw> && !ashlar::policy::growth<wrong_type>);

TEST(fixed_growth, always_takes_the_same_step) {
  for (const std::size_t held : {std::size_t{0}, std::size_t{1} << 20, max_size})
    EXPECT_EQ(fixed_growth{.step = 123}.next(held), 123u);
  EXPECT_EQ(fixed_growth{}.next(0), 64u * 1024);
}

TEST(proportional_growth, takes_a_share_between_two_bounds) {
  constexpr proportional_growth policy{.smallest = 10, .largest = 50, .divisor = 4};
  EXPECT_EQ(policy.next(0), 10u);
  EXPECT_EQ(policy.next(40), 10u);
  EXPECT_EQ(policy.next(44), 11u);
  EXPECT_EQ(policy.next(200), 50u);
  EXPECT_EQ(policy.next(max_size), 50u);
}

TEST(proportional_growth, wastes_no_more_than_its_share) {
  constexpr proportional_growth policy;
  std::size_t held = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t step = policy.next(held);
    ASSERT_LE(step, held / policy.divisor + policy.smallest);
    ASSERT_TRUE(step >= policy.smallest && step <= policy.largest);
    ASSERT_GE(policy.next(held + step), step);
    held += step;
  }
}

TEST(proportional_growth, that_cannot_grow_is_refused) {
  expect_growth({.smallest = 10, .largest = 10, .divisor = 1});
  ASHLAR_EXPECT_DEATH(expect_growth({.divisor = 0}), "ashlar: precondition: the divisor of growth is 0");
  ASHLAR_EXPECT_DEATH(expect_growth({.smallest = 11, .largest = 10}),
                      "ashlar: precondition: the smallest step of growth is above its largest");
}

TEST(retain_policy, a_number_is_that_many_and_an_eighth_of_those_in_use) {
  for (const std::size_t least : {0u, 1u, 7u, 1000u})
    for (const std::size_t in_use : {0u, 1u, 7u, 8u, 9u, 800u})
      EXPECT_EQ(retain_policy(least).retained(in_use), least + in_use / 8);
  EXPECT_EQ(retain_policy(max_size - 1).retained(8), max_size) << "no sum wraps";
  EXPECT_EQ(retain_policy(max_size - 1).retained(7), max_size - 1);
  EXPECT_TRUE((std::is_convertible_v<std::size_t, retain_policy>));
}

TEST(retain_policy, release_now_keeps_none_and_never_release_all) {
  for (const std::size_t in_use : {std::size_t{0}, std::size_t{1000}, max_size}) {
    EXPECT_EQ(ashlar::release_now.retained(in_use), 0u);
    EXPECT_EQ(ashlar::never_release.retained(in_use), max_size);
  }
}

TEST(retain_policy, equal_where_they_keep_the_same) {
  EXPECT_EQ(retain_policy(3), retain_policy(3));
  EXPECT_NE(retain_policy(0), ashlar::release_now);
  EXPECT_NE(retain_policy(max_size), ashlar::never_release);
}

static_assert(std::is_aggregate_v<ashlar::object_pool_options> && std::is_aggregate_v<ashlar::pool_set_options>);

TEST(options, limit_nothing_unless_told_to) {
  constexpr ashlar::object_pool_options objects{};
  EXPECT_EQ(objects.max_count, ashlar::detail::slot_word::closed) << "but the number of a slot does";
  EXPECT_EQ(objects.growth_count, 0u);
  constexpr ashlar::pool_set_options set{};
  EXPECT_EQ(set.max_cell_bytes, 0u);
  EXPECT_EQ(set.max_growth_count, max_size);
  EXPECT_EQ(set.retain_slabs, retain_policy(1));
  constexpr ashlar::fixed_block_pool_options fixed{};
  EXPECT_EQ(fixed.max_count, max_size);
  EXPECT_EQ(fixed.retain_slabs, retain_policy(1));
  constexpr ashlar::heap_options heap{};
  EXPECT_EQ(heap.max_bytes, max_size);
  EXPECT_EQ(heap.retain_bytes, 8u << 20);
  EXPECT_GT(heap.max_cached_cells, 0u);
}

TEST(options, let_a_set_take_blocks_above_its_largest_cell_from_the_upstream_one_by_one) {
  ashlar_test::counting_resource<> upstream;
  ashlar::pool_set<upstream_ref> pools({.max_cell_bytes = 64}, upstream);
  void* const blocks[] = {pools.allocate(65, 8), pools.allocate(65, 8)};
  EXPECT_EQ(upstream.balance().blocks, 2u);
  EXPECT_LT(upstream.balance().bytes, ashlar::detail::largest_page);
  for (void* const each : blocks) pools.deallocate(each, 65, 8);
  EXPECT_EQ(upstream.balance().blocks, 0u);
}

constexpr std::size_t most = std::size_t{80} << 20;

TEST(options, count_the_tables_of_a_heap_in_its_bytes) {
  ashlar_test::counting_resource<> upstream;
  ashlar::local_heap<upstream_ref> heap({.max_bytes = most}, upstream);
  while (heap.try_allocate(200'000) != nullptr) continue;
  EXPECT_GT(heap.table_bytes(), 0u);
  EXPECT_GT(heap.held_bytes(), most - ashlar::detail::segment_bytes);
  while (heap.try_allocate(std::size_t{5} << 20) != nullptr) continue;
  EXPECT_LE(upstream.peak().bytes, most);
  EXPECT_TRUE(heap.invariant());
}

TEST(options, count_the_records_of_the_threads_of_a_heap_in_its_bytes) {
  ashlar::shared_budget budget;
  ashlar::limiting<ashlar::page_resource, ashlar::shared_budget> upstream(budget);
  {
    ashlar::heap<ashlar::resource_ref<decltype(upstream)>> all({.max_bytes = most}, upstream);
    while (all.try_allocate(200'000) != nullptr) continue;
    std::thread([&] { EXPECT_EQ(all.try_allocate(std::size_t{5} << 20), nullptr); }).join();
    EXPECT_GT(all.held_bytes(), most - ashlar::detail::segment_bytes);
    EXPECT_LE(budget.peak(), most);
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
