// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of every object_pool: order, observers, iteration, end, objects that use their own pool; and of handles.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/pool_handle.hpp>

#include "tests/face/pool_kinds.hpp"
#include "tests/face/witness.hpp"
#include "tests/support/build.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::construct_on_acquire;
using ashlar::keep_constructed;
using ashlar::null_when_exhausted;
using ashlar::object_pool;
using ashlar_test::pool_of;
using ashlar_test::witness;

template <class Kind>
class object_pools : public ::testing::Test {};
TYPED_TEST_SUITE(object_pools, ashlar_test::pool_kinds);

TYPED_TEST(object_pools, reuse_the_latest_first) {
  if constexpr (!std::is_same_v<TypeParam, ashlar_test::in_slabs<ashlar::any_thread<>>>) {
    pool_of<TypeParam, std::string, 2, construct_on_acquire, null_when_exhausted> pool;
    std::string* const a = pool->acquire("a");
    std::string* const b = pool->acquire("b");
    pool->release(a);
    EXPECT_EQ(pool->acquire("c"), a);
    EXPECT_EQ(pool->acquire("d"), nullptr);
    pool->release(b);
    EXPECT_EQ(pool->acquire("e"), b);
    EXPECT_EQ(*a, "c");
    EXPECT_EQ(*b, "e");
  }
}

TYPED_TEST(object_pools, construct_with_any_arguments) {
  struct picky {
    picky(std::unique_ptr<int> p, int& r, const char* s) : pointer(std::move(p)), reference(r), text(s) {}
    std::unique_ptr<int> pointer;
    int& reference;
    std::string text;
  };
  pool_of<TypeParam, picky, 4> pool;
  int n = 7;
  picky* const made = pool->acquire(std::make_unique<int>(5), n, "text");
  EXPECT_EQ(*made->pointer, 5);
  EXPECT_EQ(&made->reference, &n);
  EXPECT_EQ(made->text, "text");
}

TYPED_TEST(object_pools, aggregates_and_numbers_need_no_constructor) {
  struct point {
    int x, y;
  };
  pool_of<TypeParam, point, 4> points;
  pool_of<TypeParam, int, 4> numbers;
  EXPECT_EQ(points->acquire(1, 2)->y, 2);
  EXPECT_EQ(*numbers->acquire(), 0);
  EXPECT_EQ(*numbers->acquire(3), 3);
}

TYPED_TEST(object_pools, construction_allocates_nothing_and_use_as_little_as_promised) {
  pool_of<TypeParam, std::array<char, 100>, 30> pool;
  EXPECT_EQ(pool.upstream.allocations(), 0u);
  EXPECT_TRUE(pool->empty());
  EXPECT_TRUE(pool->invariant());
  for (int i = 0; i < 30; ++i) pool->acquire();
  const std::size_t allocations = pool.upstream.allocations();
  if (std::is_same_v<TypeParam, ashlar_test::in_a_block<ashlar::one_thread>>) EXPECT_EQ(allocations, 1u);
  if (TypeParam::is_inside) EXPECT_EQ(allocations, 0u);
  pool->clear();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 30; ++i) pool->acquire();
    pool->clear();
  }
  EXPECT_EQ(pool.upstream.allocations(), allocations);
  if constexpr (requires { pool->trim(); }) {
    EXPECT_GT(pool->trim(), 0u);
    EXPECT_EQ(pool->capacity(), 0u);
    pool->acquire();
    EXPECT_TRUE(pool->invariant());
  }
}

TYPED_TEST(object_pools, visitors_may_release) {
  pool_of<TypeParam, int, 12> pool;
  std::vector<int*> all;
  for (int i = 0; i < 12; ++i) all.push_back(pool->acquire(i));
  int visited = 0;
  pool->for_each_live([&](int& each) {
    ++visited;
    const int value = each;
    pool->release(&each);
    if (value == 0) pool->release(all[7]);
  });
  EXPECT_EQ(visited, 11);
  EXPECT_TRUE(pool->empty());
  EXPECT_TRUE(pool->invariant());
}

// The pool beside a list of the expected live objects, each with its own number.
TYPED_TEST(object_pools, do_as_a_vector_of_unique_pointers_would) {
  struct numbered {
    explicit numbered(std::uint64_t n) : number(n), text(std::to_string(n)) {}
    std::uint64_t number;
    std::string text;
  };
  std::mt19937 random(1);
  pool_of<TypeParam, numbered, 40> pool;
  std::vector<std::pair<numbered*, std::uint64_t>> live;
  bool was_full = false;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    if (random() % 2 == 0) {
      if (numbered* const made = pool->try_acquire(step)) live.emplace_back(made, step);
      else ASSERT_TRUE((was_full = live.size() == 40 && pool->capacity() == 40 && pool->full()));
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_EQ(live.back().first->text, std::to_string(live.back().second));
      pool->release(live.back().first);
      live.pop_back();
    }
    if (step % 64 != 0) continue;
    ASSERT_EQ(pool->live(), live.size());
    ASSERT_EQ(pool->spare(), pool->capacity() - live.size());
    ASSERT_EQ(pool->full(), live.size() == 40);
    ASSERT_EQ(pool->empty(), live.empty());
    ASSERT_FALSE(pool->owns(&live));
    ASSERT_TRUE(pool->invariant());
    std::size_t found = 0;
    pool->for_each_live([&](const numbered& each) {
      EXPECT_TRUE(pool->owns(&each));
      found += static_cast<std::size_t>(
          std::count(live.begin(), live.end(), std::pair(const_cast<numbered*>(&each), each.number)));
    });
    ASSERT_EQ(found, live.size());
  }
  EXPECT_TRUE(was_full);
}

struct alignas(256) wide {
  char bytes[256];
};
struct alignas(4096) page_wide {
  char bytes[4096];
};

TYPED_TEST(object_pools, objects_are_aligned) {
  pool_of<TypeParam, wide, 5> pool;
  pool_of<TypeParam, page_wide, 5> pages;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(ashlar::is_aligned(pool->acquire(), 256));
    EXPECT_TRUE(ashlar::is_aligned(pages->acquire(), 4096));
  }
}

TYPED_TEST(object_pools, objects_may_be_small_or_empty_or_overload_address_of) {
  struct empty {};
  struct strange {
    strange* operator&() { return nullptr; }
    int value = 5;
  };
  pool_of<TypeParam, empty, 4> nothings;
  pool_of<TypeParam, char, 4> bytes;
  pool_of<TypeParam, strange, 4> strangers;
  EXPECT_NE(nothings->acquire(), nothings->acquire());
  EXPECT_NE(bytes->acquire('a'), bytes->acquire('b'));
  strange* const one = strangers->acquire();
  EXPECT_EQ(one->value, 5);
  strangers->release(one);
  EXPECT_TRUE(strangers->empty());
}

constinit object_pool<std::string, ashlar::with_capacity<10>> in_static_memory;
constinit object_pool<int,
                      ashlar_test::object_traits<10, construct_on_acquire, null_when_exhausted, ashlar::any_thread<>>>
    shared_in_static_memory;
constinit object_pool<int, ashlar::with_capacity<ashlar::dynamic_capacity>> dynamic_in_static_memory(10);

TEST(object_pool, is_constant_initialised) {
  ashlar::static_pool_handle<in_static_memory> text(in_static_memory.acquire("long enough to allocate its letters"));
  EXPECT_EQ(sizeof(text), sizeof(void*));
  EXPECT_EQ(in_static_memory.live(), 1u);
  text.reset();
  EXPECT_TRUE(in_static_memory.empty());
  shared_in_static_memory.release(shared_in_static_memory.acquire(1));
  dynamic_in_static_memory.release(dynamic_in_static_memory.acquire(1));
}

TEST(object_pool, promises_noexcept_exactly_where_it_holds) {
  struct throws {
    explicit throws(int) {}  // NOLINT(performance-noexcept-move-constructor)
  };
  object_pool<int, ashlar::with_capacity<1>> numbers;
  object_pool<int, ashlar_test::object_traits<1, construct_on_acquire, null_when_exhausted>> null_numbers;
  object_pool<throws, ashlar_test::object_traits<1, construct_on_acquire, null_when_exhausted>> others;
  EXPECT_FALSE(noexcept(numbers.acquire(1)));
  EXPECT_TRUE(noexcept(numbers.try_acquire(1)) && noexcept(numbers.release(nullptr)));
  EXPECT_TRUE(noexcept(null_numbers.acquire(1)) && noexcept(null_numbers.make(1)));
  EXPECT_FALSE(noexcept(others.acquire(1)) || noexcept(others.try_acquire(1)));
}

TEST(object_pool, of_no_capacity_is_full_and_empty) {
  object_pool<int, ashlar::with_capacity<ashlar::dynamic_capacity>> pool(0);
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(pool.try_acquire(1), nullptr);
  EXPECT_EQ(pool.capacity(), 0u);
  EXPECT_TRUE(pool.full() && pool.invariant());
}

// Numbers, offsets and the block's size exceed 2^32 and 2^33; only the words at the end are touched.
TEST(object_pool, of_more_than_eight_gigabytes_keeps_its_objects_apart) {
  struct untouched {
    char bytes[std::size_t{1} << 20];
    untouched() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the bytes as they are
  };
  if constexpr (sizeof(void*) == 8 && !ashlar_test::has_asan && !ashlar_test::has_tsan) {
    constexpr std::size_t count = 8200;
    object_pool<untouched,
                ashlar_test::object_traits<ashlar::dynamic_capacity, construct_on_acquire, null_when_exhausted>>
        pool(count);
    std::vector<untouched*> all;
    while (untouched* const each = pool.acquire()) all.push_back(each);
    if (all.empty()) GTEST_SKIP() << "the system has no such address space to give";
    ASSERT_EQ(all.size(), count);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    constexpr std::size_t stride = ashlar::detail::slot_guard<sizeof(untouched), alignof(untouched)>::stride;
    EXPECT_EQ(ashlar::address_of(all.back()) - ashlar::address_of(all.front()), (count - 1) * stride);
    for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, count - 1}) {
      pool.release(all[at]);
      EXPECT_EQ(pool.acquire(), all[at]);
    }
    EXPECT_TRUE(pool.full() && pool.owns(all.back()) && pool.invariant());
  }
}

struct counting_pool {
  using value_type = int;
  void release(int* object) noexcept {
    ++released;
    last = object;
  }
  int released = 0;
  int* last = nullptr;
};

using handle = ashlar::pool_handle<counting_pool>;

TEST(pool_handle, releases_once_to_its_pool) {
  counting_pool pool;
  int object = 5;
  {
    handle one(&object, ashlar::detail::returns_to(pool));
    handle other = std::move(one);
    EXPECT_EQ(other.get_deleter().pool(), &pool);
    EXPECT_EQ(*other, 5);
    EXPECT_EQ(pool.released, 0);
  }
  EXPECT_EQ(pool.released, 1);
  EXPECT_EQ(pool.last, &object);
}

TEST(pool_handle, is_two_words_and_an_empty_one_knows_no_pool) {
  EXPECT_EQ(sizeof(handle), 2 * sizeof(void*));
  EXPECT_FALSE(std::is_copy_constructible_v<handle>);
  const handle empty;
  EXPECT_EQ(empty.get_deleter().pool(), nullptr);
  EXPECT_FALSE(empty);
}

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

TYPED_TEST(object_pools, release_a_hundred_deep_in_a_reset) {
  using pool_type = pool_of<TypeParam, chained, 101, keep_constructed<ashlar::reset_with<&chained::drop_next>>>;
  pool_type pool;
  pool->release(acquire_in<typename pool_type::type>(&pool.pool, 100));
  EXPECT_EQ(pool->live(), 0u);
  EXPECT_TRUE(pool->invariant());
}

TEST(object_pool, a_long_chain_needs_no_stack) {
  constexpr std::size_t length = ashlar_test::cases_of_build(100'000, 1'000'000);
  using pool_type = ashlar::object_pool<chained>;
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
TYPED_TEST(object_pools, destroy_what_remains_once_for_any_releases) {
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
TYPED_TEST(object_pools, with_one_slot_have_none_for_the_object_inside) {
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
