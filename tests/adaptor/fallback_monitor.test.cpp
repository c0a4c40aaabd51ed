// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the fallback monitor: the counters, and each treatment of a request.
#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/able_resource.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/skills.hpp"

namespace {

using namespace ashlar_test;
using ashlar::fallback_monitor;
using ashlar::new_delete_resource;
using ashlar::resource_ref;

static_assert(sizeof(fallback_monitor<new_delete_resource>) == sizeof(fallback_monitor<skilled<0>>),
              "an empty resource is free");

TEST(fallback_monitor, counts_every_request_with_any_outcome) {
  counting_resource<> below;
  fallback_monitor<able_resource<>> monitor(below);
  EXPECT_EQ(monitor.chosen(), ashlar::spill::action::allow);
  void* const a = monitor.allocate(10, 1);
  void* const b = monitor.try_allocate(300, 8);
  void* const c = monitor.allocate_at_least(20, 1).data;
  EXPECT_EQ(monitor.counters(), (ashlar::spill::counters{3, 330, 300}));
  below.fail_at(0);
  EXPECT_EQ(monitor.try_allocate(1000, 1), nullptr);
  EXPECT_EQ(monitor.counters(), (ashlar::spill::counters{4, 1330, 1000}));
  monitor.choose(ashlar::spill::action::refuse);
  EXPECT_EQ(monitor.try_allocate(5, 1), nullptr);
  EXPECT_EQ(monitor.counters(), (ashlar::spill::counters{5, 1335, 1000}));
  monitor.deallocate(a, 10, 1);
  monitor.deallocate(b);
  monitor.deallocate(c, 20, 1);
  monitor.reset_counters();
  EXPECT_EQ(monitor.counters(), ashlar::spill::counters());
}

TEST(fallback_monitor, refuses_in_both_spellings) {
  counting_resource<> below;
  fallback_monitor<able_resource<>> monitor(below);
  monitor.choose(ashlar::spill::action::refuse);
  EXPECT_EQ(monitor.try_allocate(8, 8), nullptr);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(monitor.allocate(8, 8)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(monitor.allocate_at_least(8, 8)), std::bad_alloc);
#endif
  EXPECT_EQ(below.allocations() + below.refusals(), 0U);
  monitor.choose(ashlar::spill::action::allow);
  void* const p = monitor.allocate(8, 8);
  EXPECT_NE(p, nullptr);
  monitor.deallocate(p, 8, 8);
}

TEST(fallback_monitor, growing_in_place_is_a_request_and_shrinking_is_none) {
  counting_resource<> below;
  fallback_monitor<able_resource<>> monitor(below);
  void* const p = monitor.allocate(10, 1);
  EXPECT_TRUE(monitor.try_expand(p, 10, 50, 1));
  EXPECT_EQ(monitor.counters(), (ashlar::spill::counters{2, 50, 40}));
  monitor.choose(ashlar::spill::action::refuse);
  EXPECT_TRUE(monitor.try_expand(p, 50, 20, 1));
  EXPECT_EQ(monitor.counters().spills, 2U);
  EXPECT_FALSE(monitor.try_expand(p, 20, 21, 1));
  monitor.deallocate(p, 20, 1);
}

struct witness {
  fallback_monitor<able_resource<>>* monitor = nullptr;
  std::vector<std::size_t> seen;
  std::uint64_t counted = 0;

  static void see(void* context, const ashlar::spill::request& request) noexcept {
    auto& self = *static_cast<witness*>(context);
    self.seen.push_back(request.bytes);
    EXPECT_EQ(request.monitor, self.monitor);
    EXPECT_EQ(request.alignment, 8U);
    self.counted = self.monitor->counters().spills;
  }

  // Allocates from the monitor itself, which then does not call it again.
  static void spill_too(void* context, const ashlar::spill::request& request) noexcept {
    see(context, request);
    auto& monitor = *static_cast<witness*>(context)->monitor;
    monitor.deallocate(monitor.allocate(16, 8), 16, 8);
  }
};

TEST(fallback_monitor, calls_before_it_serves) {
  counting_resource<> below;
  fallback_monitor<able_resource<>> monitor(below);
  witness saw{&monitor, {}, 0};
  monitor.call(&witness::see, &saw);
  EXPECT_EQ(monitor.chosen(), ashlar::spill::action::notify);
  for (const std::size_t bytes : {8U, 80U}) monitor.deallocate(monitor.allocate(bytes, 8), bytes, 8);
  EXPECT_EQ(saw.seen, (std::vector<std::size_t>{8, 80}));
  EXPECT_EQ(saw.counted, 2U);  // its own request is already counted
  monitor.choose(ashlar::spill::action::allow);
  monitor.deallocate(monitor.allocate(8, 8), 8, 8);
  monitor.choose(ashlar::spill::action::notify);
  monitor.deallocate(monitor.allocate(9, 8), 9, 8);
  EXPECT_EQ(saw.seen, (std::vector<std::size_t>{8, 80, 9}));
  monitor.call(nullptr);
  EXPECT_EQ(monitor.chosen(), ashlar::spill::action::allow);
}

TEST(fallback_monitor, a_callback_may_use_the_gate) {
  counting_resource<> below;
  fallback_monitor<able_resource<>> monitor(below);
  witness saw{&monitor, {}, 0};
  monitor.call(&witness::spill_too, &saw);
  monitor.deallocate(monitor.allocate(8, 8), 8, 8);
  monitor.deallocate(monitor.allocate(8, 8), 8, 8);
  EXPECT_EQ(saw.seen.size(), 2U);
  EXPECT_EQ(monitor.counters(), (ashlar::spill::counters{4, 48, 16}));
}

TEST(fallback_monitor, threads_spill_at_once) {
  static_assert(ashlar::thread_safe_resource<fallback_monitor<new_delete_resource>>);
  fallback_monitor<new_delete_resource> monitor;
  std::atomic<int> calls = 0;
  monitor.call(
      [](void* context, const ashlar::spill::request&) noexcept { ++*static_cast<std::atomic<int>*>(context); },
      &calls);
  const auto spill_much = [&monitor] {
    for (std::size_t i = 1; i <= 1000; ++i) monitor.deallocate(monitor.allocate(i, 8), i, 8);
  };
  std::thread other(spill_much);
  spill_much();
  other.join();
  EXPECT_EQ(monitor.counters(), (ashlar::spill::counters{2000, 1'001'000, 1000}));
  EXPECT_EQ(calls, 2000);
}

TEST(fallback_monitor, ends_the_process_with_one_line) {
  fallback_monitor<new_delete_resource> monitor;
  monitor.choose(ashlar::spill::action::end);
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(monitor.allocate(4096, 16)),
                           "ashlar: spill: 4096 bytes at alignment 16 were requested through a closed "
                           "fallback_monitor at 0x*");
}

TEST(fallback_monitor, is_equal_where_what_it_owns_is) {
  counting_resource<> below;
  using over_one = fallback_monitor<resource_ref<counting_resource<>>>;
  EXPECT_TRUE(over_one(below) == over_one(below));
  EXPECT_FALSE(fallback_monitor<able_resource<>>(below) == fallback_monitor<able_resource<>>(below));
}

}  // namespace
