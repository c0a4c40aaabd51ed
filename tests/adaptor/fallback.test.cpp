// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the fallback: each block is freed to its own side, also at the border between the sides; and of its monitor.
#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/able_resource.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/skills.hpp"

namespace {

using namespace ashlar_test;
using ashlar::buffer_resource;
using ashlar::fallback;
using ashlar::inline_buffer;
using ashlar::new_delete_resource;
using ashlar::resource_ref;

// The table of the header.
constexpr skills expected_of(skills first, skills second) {
  const skills both = can_own | can_release | can_describe | can_share;  // and never can_divide
  const skills one = can_expand | can_prefault;
  const skills of_second = can_try | can_at_least;
  return (first & second & both) | ((first | second) & one) | (second & of_second);
}

template <skills First, skills Second>
constexpr bool has_what_it_should = skills_of<fallback<skilled<First>, skilled<Second>>> == expected_of(First, Second);

template <skills... Each>
constexpr bool have_what_they_should =
    (has_what_it_should<can_own | can_try | Each, Each> && ...) &&
    (has_what_it_should<can_own | can_try | Each, 0> && ...) && (has_what_it_should<can_own | can_try, Each> && ...);

static_assert(have_what_they_should<0, can_try, can_own, can_release, can_describe, can_expand, can_prefault,
                                    can_at_least, can_share, can_divide, every_skill>);
static_assert(!ashlar::resource<int> && has_what_it_should<every_skill, every_skill>);

// Two empty members of one type need two addresses; otherwise a fallback is as large as its sides with state.
static_assert(sizeof(fallback<resource_ref<buffer_resource>, new_delete_resource>) == sizeof(void*));
static_assert(sizeof(fallback<resource_ref<buffer_resource>, resource_ref<buffer_resource>>) == 2 * sizeof(void*));

// The first side fills up soon; the second refuses by throwing.
struct buffer_over_thrower : conformance_defaults {
  [[maybe_unused]] static constexpr bool reuses = false;
  counting_resource<> upstream;
  fallback<inline_buffer<10'000>, throwing_only<>> resource{std::piecewise_construct, std::tuple(), std::tie(upstream)};
};

TEST(fallback, asks_the_second_side_only_where_the_first_has_no_room) {
  counting_resource<> heap;
  inline_buffer<256> buffer;
  fallback both{resource_ref<buffer_resource>(buffer), resource_ref{heap}};
  void* const inside = both.allocate(200, 8);
  EXPECT_EQ(heap.allocations(), 0U);
  void* const outside = both.allocate(100, 8);
  EXPECT_EQ(heap.allocations(), 1U);
  EXPECT_TRUE(buffer.owns(inside) && !buffer.owns(outside));
  both.deallocate(outside, 100, 8);
  both.deallocate(inside, 200, 8);
  EXPECT_EQ(buffer.used(), 0U);
  EXPECT_EQ(heap.balance(), nothing);
}

// The sides are adjacent: one begins at the end of the other. A block of 0 bytes at the border has an address of its
// own side, and is freed to it.
TEST(fallback, frees_to_the_right_side_where_the_sides_touch) {
  alignas(64) std::array<std::byte, 128> memory;
  for (const bool first_is_below : {true, false}) {
    buffer_resource below(std::span<std::byte>(memory).first(64));
    buffer_resource above(std::span<std::byte>(memory).last(64));
    buffer_resource& first = first_is_below ? below : above;
    buffer_resource& second = first_is_below ? above : below;
    fallback<resource_ref<buffer_resource>, resource_ref<buffer_resource>> both(first, second);
    void* const filling = both.allocate(63, 1);
    void* const last_of_first = both.allocate(0, 1);
    void* const first_of_second = both.allocate(0, 1);
    void* const next = both.allocate(63, 1);
    EXPECT_TRUE(first.owns(filling) && first.owns(last_of_first) && second.owns(first_of_second) && second.owns(next));
    EXPECT_EQ(static_cast<std::byte*>(first_of_second), first_is_below ? &memory[64] : &memory[0]);
    EXPECT_EQ(static_cast<std::byte*>(last_of_first), first_is_below ? &memory[63] : &memory[127]);
    EXPECT_TRUE(both.owns(last_of_first) && both.owns(first_of_second));
    EXPECT_EQ(both.try_allocate(0, 1), nullptr);
    both.deallocate(last_of_first, 0, 1);
    EXPECT_EQ(std::pair(first.used(), second.used()), std::pair(std::size_t{63}, std::size_t{64}));
    both.deallocate(next, 63, 1);
    EXPECT_EQ(std::pair(first.used(), second.used()), std::pair(std::size_t{63}, std::size_t{1}));
    both.deallocate(first_of_second, 0, 1);
    both.deallocate(filling, 63, 1);
    EXPECT_EQ(first.used() + second.used(), 0U);
  }
}

TEST(fallback, a_pool_serves_what_its_cells_hold_and_nothing_else) {
  counting_resource<> slabs;
  counting_resource<> heap;
  using pool = ashlar::block_pool<resource_ref<counting_resource<>>>;
  fallback<pool, resource_ref<counting_resource<>>> both(
      std::piecewise_construct,
      std::tuple(ashlar::block_pool_options{.cell_bytes = 32, .slab_bytes = 1024, .max_count = 2}, resource_ref(slabs)),
      std::tie(heap));
  void* const large = both.allocate(1000, 8);  // a pool would request it from its own upstream
  EXPECT_EQ(heap.balance().bytes, 1000U);
  both.deallocate(large, 1000, 8);
  void* const cells[] = {both.allocate(32, 8), both.allocate(1, 1), both.allocate(32, 8)};
  EXPECT_EQ(both.first().live(), 2U);
  EXPECT_EQ(heap.balance().bytes, 32U);
  both.deallocate(cells[0], 32, 8);
  both.deallocate(cells[1], 1, 1);
  both.deallocate(cells[2], 32, 8);
  EXPECT_EQ(both.first().live(), 0U);
}

TEST(fallback, resizes_in_the_side_of_the_block_and_frees_without_a_size) {
  counting_resource<> upper;
  counting_resource<> lower;
  fallback<able_resource<>, able_resource<>> both(upper, lower);
  void* const first = both.allocate(10, 1);
  upper.fail_from(0);
  void* const second = both.allocate(10, 1);
  EXPECT_TRUE(both.try_expand(first, 10, 64, 1) && both.try_expand(second, 10, 64, 1));
  EXPECT_FALSE(both.try_expand(first, 64, 65, 1) || both.try_expand(second, 64, 65, 1));
  EXPECT_EQ(both.allocate_at_least(65, 1).size, 128U);
  both.deallocate(first);
  EXPECT_EQ(upper.balance(), nothing);
  both.deallocate(second);
  EXPECT_EQ(lower.balance().blocks, 1U);
  both.release();
  EXPECT_EQ(lower.balance(), nothing);

  inline_buffer<64> buffer;
  fallback<resource_ref<buffer_resource>, able_resource<>> one(buffer, lower);
  void* const stiff = one.allocate(32, 1);
  void* const large = one.allocate(65, 1);
  EXPECT_FALSE(one.try_expand(stiff, 32, 33, 1));
  EXPECT_TRUE(one.try_expand(large, 65, 128, 1));
  EXPECT_EQ(one.allocate_at_least(5, 1).size, 5U);
  one.deallocate(large, 128, 1);
}

TEST(fallback, is_equal_where_both_sides_are) {
  inline_buffer<64> a;
  inline_buffer<64> b;
  using over_heap = fallback<resource_ref<buffer_resource>, new_delete_resource>;
  EXPECT_TRUE(over_heap(a) == over_heap(a));
  EXPECT_FALSE(over_heap(a) == over_heap(b));
  using over_buffer = fallback<resource_ref<buffer_resource>, resource_ref<buffer_resource>>;
  EXPECT_FALSE(over_buffer(a, b) == over_buffer(a, a));
}

// Refuses with null; an exception would fail the test.
struct never_throws : skilled<can_own | can_try> {
  void* allocate(std::size_t, std::size_t) {
    ADD_FAILURE() << "asked by exception";
    return nullptr;
  }
};

TEST(fallback, decides_by_null_where_it_can) {
  fallback<never_throws, new_delete_resource> both;
  void* const p = both.allocate(10, 1);
  both.deallocate(p, 10, 1);
#if defined(__cpp_exceptions)
  counting_resource<> below;
  below.fail_from(0);
  fallback<able_resource<false>, throwing_only<>> throwing(below, below);
  EXPECT_THROW(static_cast<void>(throwing.allocate(10, 1)), injected_failure);
  EXPECT_EQ(below.refusals(), 2U);
#endif
}

TEST(fallback, a_second_side_inside_the_first_is_noticed) {
  if constexpr (is_checked) {
    alignas(64) std::array<std::byte, 128> memory;
    buffer_resource whole(memory);
    buffer_resource half(std::span<std::byte>(memory).last(64));
    fallback<resource_ref<buffer_resource>, resource_ref<buffer_resource>> both(whole, half);
    static_cast<void>(both.allocate(128, 1));
    ASHLAR_EXPECT_DEATH(static_cast<void>(both.allocate(8, 1)),
                        "ashlar: precondition: the second side of a fallback hands out memory of the first");
  }
}

const bool tested = conforms<buffer_over_thrower>("fallback_from_a_buffer");

using ashlar::fallback_monitor;

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
