// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that linked structures of any depth end on a small stack, and that only growth allocates.
#include <ashlar/face/ref_pool.hpp>

#include <pthread.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/pool_traits.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;

// Runs `f` on a thread with 256 KiB of stack.
template <class F>
void on_small_stack(F f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} * 1024), 0);
  pthread_t thread;
  const auto run = [](void* what) -> void* {
    (*static_cast<F*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// A list of a hundred thousand would need megabytes of stack too.
constexpr std::size_t nodes = ashlar_test::cases_of_build(100'000, 1'000'000);

template <class Threads>
struct list_node {
  ~list_node() { ++ended; }
  ashlar::ref_ptr<list_node, Threads> next;
  static inline std::size_t ended = 0;
};

template <class Threads>
struct tree_node {
  ~tree_node() { ++ended; }
  std::array<ashlar::ref_ptr<tree_node, Threads>, 2> children;
  static inline std::size_t ended = 0;
};

// Two bases, so that the links point into the middle of objects.
template <class Threads>
struct link {
  ashlar::ref_ptr<link, Threads> next;
};
struct payload {
  std::string text = "a string that is longer than any small buffer";
};
template <class Threads>
struct both : payload, link<Threads> {
  ~both() { ++ended; }
  static inline std::size_t ended = 0;
};

// Returns: the head of a list of `count` new objects of the pool.
template <class Pointer>
Pointer list_of(std::size_t count, auto& pool) {
  Pointer head;
  for (std::size_t i = 0; i < count; ++i) {
    auto fresh = pool.make();
    fresh->next = std::move(head);
    head = std::move(fresh);
  }
  return head;
}

template <class Threads>
class counted_objects : public ::testing::Test {};
using policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(counted_objects, policies);

TYPED_TEST(counted_objects, a_long_list_ends_on_a_small_stack_before_its_pool_and_after_it) {
  using node = list_node<TypeParam>;
  using pool_type = ashlar::ref_pool<node, TypeParam, ashlar::count::by_padding,
                                     ashlar::resource_ref<ashlar_test::counting_resource<>>>;
  for (const bool ends_first : {true, false}) {
    node::ended = 0;
    ashlar_test::counting_resource<> upstream;
    std::optional<pool_type> pool(upstream);
    auto head = list_of<ashlar::ref_ptr<node, TypeParam>>(nodes, *pool);
    if (!ends_first) pool.reset();
    on_small_stack([&] { head.reset(); });
    EXPECT_EQ(node::ended, nodes);
    if (ends_first) EXPECT_TRUE(pool->empty() && pool->invariant());
    pool.reset();
    EXPECT_EQ(upstream.balance(), ashlar_test::nothing);
  }
}

TYPED_TEST(counted_objects, a_tree_ends_on_a_small_stack) {
  using node = tree_node<TypeParam>;
  node::ended = 0;
  ashlar::ref_pool<node, TypeParam> pool;
  std::vector<ashlar::ref_ptr<node, TypeParam>> all;
  all.push_back(pool.make());
  for (std::size_t i = 1; i < nodes / 4; ++i) {
    all.push_back(pool.make());
    all[(i - 1) / 2]->children[i % 2] = all.back();
  }
  auto root = all.front();
  all.clear();
  EXPECT_EQ(pool.live(), nodes / 4);
  on_small_stack([&] { root.reset(); });
  EXPECT_EQ(node::ended, nodes / 4);
}

// Objects of two pools in turn: each pool defers its own objects, so the depth is the number of pools.
template <class Threads>
struct odd;
template <class Threads>
struct even {
  ashlar::ref_ptr<odd<Threads>, Threads> next;
};
template <class Threads>
struct odd {
  ashlar::ref_ptr<even<Threads>, Threads> next;
};

TYPED_TEST(counted_objects, a_list_through_two_pools_ends_on_a_small_stack) {
  ashlar::ref_pool<even<TypeParam>, TypeParam> evens;
  ashlar::ref_pool<odd<TypeParam>, TypeParam> odds;
  ashlar::ref_ptr<even<TypeParam>, TypeParam> head = evens.make();
  for (std::size_t i = 0; i < nodes / 4; ++i) {
    auto fresh = odds.make();
    fresh->next = std::move(head);
    head = evens.make();
    head->next = std::move(fresh);
  }
  on_small_stack([&] { head.reset(); });
  EXPECT_EQ(evens.live() + odds.live(), 0u);
}

TYPED_TEST(counted_objects, a_list_that_is_kept_constructed_is_recycled_on_a_small_stack) {
  struct kept {
    ashlar::ref_ptr<kept, TypeParam> next;
    void drop_next() noexcept { next.reset(); }
  };
  ashlar::intrusive_pool<kept,
                         ashlar_test::intrusive_traits<ashlar::keep_constructed<ashlar::reset_with<&kept::drop_next>>,
                                                       ashlar::throw_when_exhausted, TypeParam>>
      pool;
  auto head = list_of<ashlar::ref_ptr<kept, TypeParam>>(nodes / 4, pool);
  on_small_stack([&] { head.reset(); });
  EXPECT_TRUE(pool.empty());
}

}  // namespace
