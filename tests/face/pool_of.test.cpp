// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a container leads to the pool of its nodes, and that traits choose that pool.
#include <ashlar/face/pool_of.hpp>

#include <cstddef>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace {

template <class Threads>
struct chosen : ashlar::pool_allocator_traits {
  using threads = Threads;
  static constexpr std::size_t slab_bytes = 16 * 1024;
  static constexpr ashlar::retain_policy retain_slabs = ashlar::never_release;
  using upstream = ashlar::new_delete_resource;
};

template <class Choice>
struct pool_of_choice : ::testing::Test {};
using choices = ::testing::Types<ashlar::thread_cached, ashlar::one_thread, std::mutex, chosen<ashlar::thread_cached>,
                                 chosen<ashlar::one_thread>, chosen<std::mutex>>;
TYPED_TEST_SUITE(pool_of_choice, choices);

template <class Container>
void expect_counts() {
  Container made;
  const auto pool = ashlar::pool_of(made);
  const std::size_t before = pool.live();
  pool.reserve(100);
  EXPECT_GE(pool.capacity(), before + 100);
  if constexpr (requires { made.emplace_front(); }) made.emplace_front();
  else made.emplace();
  EXPECT_EQ(pool.live(), before + 1);
  made.clear();
  EXPECT_EQ(pool.live(), before);
}

TYPED_TEST(pool_of_choice, counts_the_nodes_of_every_container) {
  using one = ashlar::pool_allocator<int, TypeParam>;
  using pair = ashlar::pool_allocator<std::pair<const int, double>, TypeParam>;
  expect_counts<std::list<int, one>>();
  expect_counts<std::forward_list<int, one>>();
  expect_counts<std::set<int, std::less<>, one>>();
  expect_counts<std::multimap<int, double, std::less<>, pair>>();
  expect_counts<std::unordered_map<int, double, std::hash<int>, std::equal_to<>, pair>>();
}

TYPED_TEST(pool_of_choice, trims_what_its_policy_retains) {
  struct element {
    char bytes[712];
  };
  std::list<element, ashlar::pool_allocator<element, TypeParam>> elements(1000);
  const auto pool = ashlar::pool_of(elements);
  pool.retain(ashlar::never_release);
  elements.clear();
  const std::size_t held = pool.held_bytes();
  EXPECT_GE(held, 1000 * pool.cell_bytes());
  EXPECT_GT(pool.trim(), held / 2);
  EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(pool_allocator_traits, have_slabs_and_pools_of_their_own) {
  using traits = chosen<ashlar::thread_cached>;
  std::list<long, ashlar::pool_allocator<long, traits>> chosen_ones{1, 2, 3};
  const std::list<long, ashlar::pool_allocator<long>> others{1};
  const auto pool = ashlar::pool_of(chosen_ones);
  EXPECT_EQ(pool.slab_bytes(), traits::slab_bytes);
  EXPECT_NE(ashlar::pool_of(others).slab_bytes(), traits::slab_bytes);
  EXPECT_EQ(pool.live(), 3u);
  EXPECT_EQ(pool.held_bytes(), traits::slab_bytes);
  chosen_ones.clear();
  static_assert(
      std::is_same_v<ashlar::pool_allocator<int, traits>::rebind<long>::other, ashlar::pool_allocator<long, traits>>);
}

TEST(pool_of, is_the_resource_of_an_allocator_that_refers_to_one) {
  ashlar::block_pool<> nodes({.cell_bytes = 32});
  const std::list<int, ashlar::allocator<int, ashlar::block_pool<>>> numbers({1, 2}, nodes);
  EXPECT_EQ(&ashlar::pool_of(numbers), &nodes);
}

}  // namespace
