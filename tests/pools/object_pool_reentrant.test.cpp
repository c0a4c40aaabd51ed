// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that use their own pool while they are made, destroyed or reset; constructors that throw.
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/face/object_pool.hpp>

#include "tests/face/pool_kinds.hpp"
#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::construct_on_acquire;
using ashlar::keep_constructed;
using ashlar::null_when_exhausted;
using ashlar_test::pool_of;
using ashlar_test::witness;

template <class Kind>
class reentrant_pools : public ::testing::Test {};
TYPED_TEST_SUITE(reentrant_pools, ashlar_test::pool_kinds);

// The node knows its pool through two functions, so that neither type needs the other.
struct chained {
  using acquire_function = chained* (*)(void* pool, int depth);
  using release_function = void (*)(void* pool, chained* object) noexcept;

  void* pool = nullptr;
  acquire_function acquire = nullptr;
  release_function release = nullptr;
  chained* next = nullptr;

  chained(void* in, acquire_function a, release_function r, int depth)
      : pool(in), acquire(a), release(r), next(depth > 0 ? a(in, depth - 1) : nullptr) {}
  chained(const chained&) = delete;
  chained& operator=(const chained&) = delete;
  ~chained() { drop_next(); }
  void drop_next() noexcept {
    if (next != nullptr) release(pool, next);
    next = nullptr;
  }
};

template <class Pool>
chained* acquire_in(void* pool, int depth) {
  return static_cast<Pool*>(pool)->acquire(
      pool, &acquire_in<Pool>, [](void* in, chained* object) noexcept { static_cast<Pool*>(in)->release(object); },
      depth);
}

TYPED_TEST(reentrant_pools, a_reset_releases_a_hundred_deep) {
  using pool_type = pool_of<TypeParam, chained, 101, keep_constructed<ashlar::reset_with<&chained::drop_next>>>;
  pool_type pool;
  pool->release(acquire_in<typename pool_type::type>(&pool.pool, 100));
  EXPECT_EQ(pool->live(), 0u);
  EXPECT_TRUE(pool->invariant());
}

TEST(reentrant_pool, a_long_chain_needs_no_stack) {
  constexpr std::size_t length = ashlar_test::cases_of_build(100'000, 1'000'000);
  using pool_type = ashlar::object_pool<chained, ashlar::with_capacity<ashlar::growing>>;
  pool_type pool;
  const auto acquire = [&] {
    return pool.acquire(
        &pool, nullptr, [](void* in, chained* each) noexcept { static_cast<pool_type*>(in)->release(each); }, 0);
  };
  for (const bool by_hand : {true, false}) {
    chained* first = nullptr;
    for (std::size_t i = 0; i < length; ++i) {
      chained* const each = acquire();
      each->next = first;
      first = each;
    }
    EXPECT_EQ(pool.live(), length);
    by_hand ? pool.release(first) : pool.clear();
    EXPECT_EQ(pool.live(), 0u);
  }
}

// For either end of a chain that the pool reaches first, and for a ring.
TYPED_TEST(reentrant_pools, remaining_objects_are_destroyed_once_for_any_releases) {
  struct linked {
    explicit linked(void (*r)(linked&) noexcept) : release(r) {}
    linked(const linked&) = delete;
    linked& operator=(const linked&) = delete;
    ~linked() {
      ++destroyed();
      if (next != nullptr) release(*this);
    }
    static int& destroyed() {
      static int count = 0;
      return count;
    }
    void (*release)(linked&) noexcept;
    linked* next = nullptr;
    void* pool = nullptr;
  };
  using pool_type = pool_of<TypeParam, linked, 30>;
  for (const int shape : {0, 1, 2, 3}) {
    linked::destroyed() = 0;
    {
      pool_type pool;
      std::vector<linked*> all;
      for (int i = 0; i < 30; ++i) {
        all.push_back(pool->acquire(
            [](linked& each) noexcept { static_cast<typename pool_type::type*>(each.pool)->release(each.next); }));
        all.back()->pool = &pool.pool;
      }
      for (std::size_t i = 0; i + 1 < all.size(); ++i)
        shape % 2 == 0 ? all[i]->next = all[i + 1] : all[i + 1]->next = all[i];
      if (shape >= 2) shape % 2 == 0 ? all.back()->next = all.front() : all.front()->next = all.back();
      if (shape == 3) pool->clear();
    }
    EXPECT_EQ(linked::destroyed(), 30) << shape;
  }
}

// One slot: it is out while its object is made or destroyed, and back right afterwards.
TYPED_TEST(reentrant_pools, with_one_slot_have_none_for_the_object_inside) {
  struct greedy {
    using function = bool (*)(void*) noexcept;
    greedy(void* p, function f) : pool(p), asks(f) { found |= asks(pool); }
    greedy(const greedy&) = delete;
    greedy& operator=(const greedy&) = delete;
    ~greedy() { found |= asks(pool); }
    static bool& found_any() {
      static bool any = false;
      return any;
    }
    void* pool;
    function asks;
    bool& found = found_any();
  };
  using pool_type = pool_of<TypeParam, greedy, 1, construct_on_acquire, null_when_exhausted>;
  pool_type pool;
  const auto ask = [](void* in) noexcept {
    return static_cast<typename pool_type::type*>(in)->acquire(in, [](void*) noexcept { return true; }) != nullptr;
  };
  greedy* const only = pool->acquire(&pool.pool, +ask);
  ASSERT_NE(only, nullptr);
  pool->release(only);
  EXPECT_FALSE(greedy::found_any());
  EXPECT_EQ(pool->live(), 0u);
  EXPECT_TRUE(pool->invariant());
}

}  // namespace
