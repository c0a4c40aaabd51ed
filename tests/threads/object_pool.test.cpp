// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools for any thread: objects made in one thread and released in another, with and without a bound.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/face/object_pool.hpp>

#include "tests/support/pool_traits.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::any_thread;
using ashlar::construct_on_acquire;
using ashlar::keep_constructed;
using ashlar::null_when_exhausted;
using ashlar::object_pool;

// Plain members: a read of another thread's object without synchronisation is a race.
struct message {
  explicit message(std::uint64_t n) : number(n), complement(~n) {}
  ~message() { number = complement = 0; }
  message(const message&) = delete;
  message& operator=(const message&) = delete;
  void set(std::uint64_t n) noexcept { number = n, complement = ~n; }
  void reset() noexcept { set(0); }
  [[nodiscard]] bool is_whole() const { return number == ~complement; }
  std::uint64_t number;
  std::uint64_t complement;
};

template <class Lifetime, class Threads>
struct bounded : object_pool<message, ashlar_test::object_traits<64, Lifetime, null_when_exhausted, Threads>> {};
template <class Lifetime, class Threads>
struct one_block
    : object_pool<message,
                  ashlar_test::object_traits<ashlar::dynamic_capacity, Lifetime, null_when_exhausted, Threads>> {
  one_block() : one_block::object_pool(64) {}
};
template <class Lifetime, class Threads>
struct unbounded
    : object_pool<message, ashlar_test::object_traits<ashlar::growing, Lifetime, null_when_exhausted, Threads>> {};

template <class Pool>
class shared_pools : public ::testing::Test {};
using kept = keep_constructed<ashlar::reset_with<&message::reset>>;
using kinds = ::testing::Types<bounded<construct_on_acquire, any_thread<>>, bounded<kept, any_thread<>>,
                               one_block<construct_on_acquire, any_thread<std::mutex>>, one_block<kept, any_thread<>>,
                               unbounded<construct_on_acquire, any_thread<>>, unbounded<kept, any_thread<>>>;
TYPED_TEST_SUITE(shared_pools, kinds);

// Every thread acquires objects, and releases objects from a shared table.
TYPED_TEST(shared_pools, objects_wander_between_threads) {
  TypeParam pool;
  std::array<std::atomic<message*>, 32> table = {};
  std::atomic<std::uint64_t> made = 0, released = 0;
  const auto work = [&](std::uint64_t who) {
    for (std::uint64_t i = 0; i < ashlar_test::stress_rounds(50'000); ++i) {
      message* each = pool.try_acquire(i);
      if (each != nullptr) {
        ++made;
        ASSERT_TRUE(each->is_whole());
        each->set(i + who);
      }
      // Pairs with itself: another thread wrote the object.
      each =
          table[static_cast<std::size_t>((i * 7 + who * 5) % table.size())].exchange(each, std::memory_order_acq_rel);
      if (each == nullptr) continue;
      ASSERT_TRUE(each->is_whole());
      pool.release(each);
      ++released;
    }
  };
  ashlar_test::on_threads(4, work);
  EXPECT_EQ(pool.live(), made - released);
  for (auto& slot : table)
    if (message* const left = slot.exchange(nullptr)) pool.release(left);
  EXPECT_TRUE(pool.empty());
  EXPECT_TRUE(pool.invariant());
}

// All objects return from another thread: the pool must drain its inbox before it reports exhaustion.
TYPED_TEST(shared_pools, what_others_released_is_found_before_failing) {
  TypeParam pool;
  for (int round = 0; round < 20; ++round) {
    std::vector<message*> all;
    for (std::uint64_t i = 0; i < 64; ++i) {
      all.push_back(pool.try_acquire(i));
      ASSERT_NE(all.back(), nullptr);
    }
    ashlar_test::in_a_thread([&] {
      for (message* const each : all) pool.release(each);
    });
    EXPECT_TRUE(pool.empty());
  }
}

// A query sees the first slab completely, or not at all.
TYPED_TEST(shared_pools, name_the_owner_of_an_object_while_the_first_is_acquired) {
  for (std::size_t round = 0; round < ashlar_test::stress_rounds(200); ++round) {
    TypeParam pool;
    std::atomic<bool> is_acquired = false;
    std::thread asking([&] {
      bool stranger_is_owned = false;
      while (!is_acquired) stranger_is_owned = pool.owns(&is_acquired) || stranger_is_owned;
      EXPECT_FALSE(stranger_is_owned);
    });
    auto* const first = pool.acquire(1U);
    EXPECT_TRUE(pool.owns(first));
    is_acquired = true;
    asking.join();
    pool.release(first);
  }
}

}  // namespace
