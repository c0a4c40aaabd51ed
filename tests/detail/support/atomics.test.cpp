// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that atomics have the shape, the operations and the orders of the standard library, and are lock-free.
#include <ashlar/detail/support/atomics.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::atomic;
using ashlar::detail::memory_order_acq_rel;
using ashlar::detail::memory_order_acquire;
using ashlar::detail::memory_order_relaxed;
using ashlar::detail::memory_order_release;
using ashlar::detail::memory_order_seq_cst;

struct node {
  ashlar::detail::default_atomics::plain<node*> next = nullptr;
};

static_assert(std::is_same_v<ashlar::detail::default_atomics::plain<node*>, node*>);

// The types that parts keep in atomics; a lock inside them would not survive a fork.
static_assert(ashlar::detail::default_atomics::atomic<node*>::is_always_lock_free);
static_assert(ashlar::detail::default_atomics::atomic<std::uint32_t>::is_always_lock_free);
static_assert(ashlar::detail::default_atomics::atomic<bool>::is_always_lock_free);

TEST(atomics, a_plain_member_costs_nothing) { EXPECT_EQ(sizeof(node), sizeof(void*)); }

// Neither larger nor less aligned than the standard's.
template <class T>
constexpr bool is_shaped_as_standard =
    sizeof(atomic<T>) == sizeof(std::atomic<T>) && alignof(atomic<T>) == alignof(std::atomic<T>);
struct two_words {
  std::uint32_t low = 0;
  std::uint32_t high = 0;

  [[nodiscard]] friend bool operator==(const two_words&, const two_words&) noexcept = default;
};
static_assert(is_shaped_as_standard<bool> && is_shaped_as_standard<std::uint16_t> &&
              is_shaped_as_standard<std::uint32_t> && is_shaped_as_standard<std::uint64_t> &&
              is_shaped_as_standard<node*> && is_shaped_as_standard<two_words>);

TEST(atomics, hold_what_was_stored) {
  atomic<two_words> both;
  EXPECT_EQ(both.load(memory_order_relaxed), (two_words{0, 0}));
  both.store({1, 2}, memory_order_release);
  EXPECT_EQ(both.load(memory_order_acquire), (two_words{1, 2}));
  EXPECT_EQ(both.exchange({3, 4}, memory_order_acq_rel), (two_words{1, 2}));
  EXPECT_EQ(both.load(memory_order_seq_cst), (two_words{3, 4}));
}

TEST(atomics, compare_before_they_exchange) {
  atomic<node*> held = nullptr;
  node a, b;
  node* expected = &a;
  EXPECT_FALSE(held.compare_exchange_strong(expected, &b, memory_order_acq_rel, memory_order_acquire));
  EXPECT_EQ(expected, nullptr);
  EXPECT_TRUE(held.compare_exchange_strong(expected, &b, memory_order_acq_rel, memory_order_acquire));
  expected = &b;
  while (!held.compare_exchange_weak(expected, &a, memory_order_release, memory_order_relaxed)) {
  }
  EXPECT_EQ(held.load(memory_order_relaxed), &a);
}

TEST(atomics, count) {
  atomic<std::uint32_t> count = 7;
  EXPECT_EQ(count.fetch_add(5, memory_order_relaxed), 7u);
  EXPECT_EQ(count.fetch_sub(2, memory_order_acq_rel), 12u);
  EXPECT_EQ(count.fetch_or(0x20, memory_order_relaxed), 10u);
  EXPECT_EQ(count.fetch_and(0x28, memory_order_relaxed), 42u);
  EXPECT_EQ(count.load(memory_order_relaxed), 40u);
}

TEST(atomics, lose_no_step_of_any_thread) {
  constexpr int steps = 20'000;
  atomic<std::uint64_t> sum = 0;
  const auto step = [&] {
    for (int i = 0; i < steps; ++i) sum.fetch_add(1, memory_order_relaxed);
  };
  {
    const std::jthread other(step);
    step();
  }
  EXPECT_EQ(sum.load(memory_order_relaxed), 2u * steps);
}

TEST(atomics, publish_what_was_written_before) {
  int data = 0;
  atomic<bool> is_ready = false;
  const std::jthread writer([&] {
    data = 42;
    is_ready.store(true, memory_order_release);
  });
  while (!is_ready.load(memory_order_acquire)) std::this_thread::yield();
  EXPECT_EQ(data, 42);
}

TEST(atomics, orders_convert_to_those_of_the_standard) {
  EXPECT_EQ(std::memory_order{memory_order_relaxed}, std::memory_order_relaxed);
  EXPECT_EQ(std::memory_order{memory_order_acquire}, std::memory_order_acquire);
  EXPECT_EQ(std::memory_order{memory_order_release}, std::memory_order_release);
  EXPECT_EQ(std::memory_order{memory_order_acq_rel}, std::memory_order_acq_rel);
  EXPECT_EQ(std::memory_order{memory_order_seq_cst}, std::memory_order_seq_cst);
}

}  // namespace
