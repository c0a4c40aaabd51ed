// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the thread's scratch memory.
#include <cstddef>
#include <thread>

#include <pthread.h>

#include <gtest/gtest.h>

#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/scratch_arena.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::scratch_arena;

struct a_scope : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  static constexpr std::size_t churn_steps = 200;
  scratch_arena resource;
};

bool is_same_memory(const scratch_arena& a, const scratch_arena& b) { return &a.memory() == &b.memory(); }

TEST(scratch_arena, gives_memory_back_to_the_thread_when_a_scope_ends) {
  void* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    scratch_arena outer;
    void* const p = outer.allocate(100, 8);
    if (i == 1) first = p;  // after the first, the memory is one chunk
    EXPECT_TRUE(i < 2 || p == first);
    const std::size_t used = outer.memory().used();
    {
      scratch_arena inner;
      EXPECT_TRUE(is_same_memory(inner, outer) && inner != outer);
      static_cast<void>(inner.allocate(200'000, 8));
      EXPECT_TRUE(inner.owns(p));
    }
    EXPECT_EQ(outer.memory().used(), used);
    EXPECT_TRUE(outer.invariant());
  }
}

TEST(scratch_arena, keeps_apart_from_the_arenas_of_the_results) {
  scratch_arena results;
  auto second = scratch_arena::beside(results);
  auto third = scratch_arena::beside(results, second);
  auto fourth = scratch_arena::beside(third, results.memory(), second);
  EXPECT_FALSE(is_same_memory(results, second) || is_same_memory(results, third) || is_same_memory(second, third));
  EXPECT_FALSE(is_same_memory(fourth, third) || is_same_memory(fourth, results) || is_same_memory(fourth, second));
  ashlar::arena<> elsewhere;
  // No scratch arena: no arena is excluded.
  EXPECT_TRUE(is_same_memory(scratch_arena::beside(elsewhere), results));
}

TEST(scratch_arena, is_each_threads_own) {
  scratch_arena mine;
  void* const p = mine.allocate(64, 8);
  std::thread([&] {
    scratch_arena theirs;
    EXPECT_FALSE(is_same_memory(theirs, mine) || theirs.owns(p));
    static_cast<void>(theirs.allocate(1'000'000, 8));
  }).join();
  EXPECT_TRUE(mine.owns(p));
}

TEST(scratch_arena, gives_the_threads_memory_back_when_asked_and_no_scope_is_open) {
  {
    scratch_arena scope;
    scratch_arena::release_thread();
    static_cast<void>(scope.allocate(100'000, 8));
  }
  scratch_arena::release_thread();
  scratch_arena::release_thread();
  scratch_arena anew;
  EXPECT_EQ(anew.memory().held_bytes(), 0u);
}

// A destructor at the end of a scope may use that scope, open others, and release the thread's memory.
struct uses_scratch {
  scratch_arena& of;
  int& ends;
  uses_scratch(scratch_arena& scope, int& n) : of(scope), ends(n) {}
  uses_scratch(const uses_scratch&) = delete;
  uses_scratch& operator=(const uses_scratch&) = delete;
  ~uses_scratch() {
    static_cast<void>(of.allocate(10, 1));
    {
      scratch_arena inner;
      static_cast<void>(inner.allocate(100'000, 8));
    }
    scratch_arena::release_thread();
    static_cast<void>(of.allocate(10, 1));
    ++ends;
  }
};

TEST(scratch_arena, may_be_used_by_the_objects_that_end_with_it) {
  int ends = 0;
  for (int round = 1; round <= 3; ++round) {
    scratch_arena outer;
    static_cast<void>(outer.make<uses_scratch>(outer, ends));
    {
      scratch_arena inner;
      static_cast<void>(inner.make<uses_scratch>(inner, ends));
      static_cast<void>(inner.make<uses_scratch>(inner, ends));
    }
    EXPECT_EQ(ends, 3 * round - 1);
    EXPECT_TRUE(outer.invariant());
    outer.memory().reset();
    EXPECT_EQ(ends, 3 * round);
  }
  {
    scratch_arena last;
    static_cast<void>(last.make<uses_scratch>(last, ends));
  }
  EXPECT_EQ(ends, 10);
}

// An inner scope starts at the end of the outer one's last block.
TEST(scratch_arena, grows_no_block_under_an_open_scope) {
  scratch_arena outer;
  void* const p = outer.allocate(100, 8);
  {
    scratch_arena inner;
    EXPECT_FALSE(outer.try_expand(p, 100, 200, 8));
    EXPECT_TRUE(outer.try_expand(p, 100, 50, 8));
    static_cast<void>(inner.allocate(8, 8));
  }
  EXPECT_EQ(outer.memory().used(), 100u);
  void* const q = outer.allocate(8, 8);
  EXPECT_TRUE(outer.try_expand(q, 8, 200, 8));
}

// A key's destructor requests memory again after the thread has begun to end.
TEST(scratch_arena, works_while_the_thread_ends) {
  static pthread_key_t key;
  static bool worked = false;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void*) {
                                 scratch_arena late;
                                 worked = late.allocate(100, 8) != nullptr;
                               }),
            0);
  std::thread([] {
    {
      static_cast<void>(scratch_arena().allocate(100, 8));
    }
    pthread_setspecific(key, &key);
  }).join();
  EXPECT_TRUE(worked);
  pthread_key_delete(key);
}

TEST(scratch_arena_death, an_outer_scope_is_not_used_under_an_inner_one) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  scratch_arena outer;
  const auto misuse = [&] {
    scratch_arena inner;
    static_cast<void>(outer.allocate(8, 8));
  };
  ASHLAR_EXPECT_DEATH(misuse(),
                      "ashlar: precondition: allocated from a scratch scope below an open one; make the upper one "
                      "with scratch_arena::beside");
}

const bool tested = ashlar_test::conforms<a_scope>("scratch_arena");

}  // namespace
