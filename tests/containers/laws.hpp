// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of containers and their allocators, each as a function of a container type and a world.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/containers/kinds.hpp"

namespace ashlar_test {

template <class Container>
using traits_of = std::allocator_traits<typename Container::allocator_type>;

/// Makes containers of one type in a world.
template <class Container, class World>
struct maker {
  using value_type = typename Container::value_type;
  World& world;

  [[nodiscard]] auto first() const { return world.template first<value_type>(); }
  [[nodiscard]] auto second() const { return world.template second<value_type>(); }
  [[nodiscard]] Container in_first(int count, int from = 0) const { return make(first(), count, from); }
  [[nodiscard]] Container in_second(int count, int from = 0) const { return make(second(), count, from); }

private:
  template <class Alloc>
  [[nodiscard]] static Container make(const Alloc& alloc, int count, int from) {
    Container made{typename Container::allocator_type(alloc)};
    fill(made, count, from);
    return made;
  }
};

/// Returns: the address of the first element, which shows whether elements moved.
template <class Container>
[[nodiscard]] const void* place_of(const Container& c) {
  return std::addressof(*c.begin());
}

template <class Container>
[[nodiscard]] std::ptrdiff_t count_of(const Container& c) {
  return std::distance(c.begin(), c.end());
}

/// Effects: verifies that a container still works after a move from it.
template <class Container>
void expect_reusable(Container& c) {
  c.clear();
  fill(c, 5);
  EXPECT_EQ(count_of(c), 5);
}

template <class Container, class World>
void copies_construct(World& world) {
  const maker<Container, World> make{world};
  const Container original = make.in_first(100);
  Container copy = original;
  EXPECT_TRUE(copy == original);
  const auto alloc = original.get_allocator();
  const bool keeps = traits_of<Container>::select_on_container_copy_construction(alloc) == alloc;
  EXPECT_EQ(copy.get_allocator() == alloc, keeps);
  const Container elsewhere(original, make.second());
  EXPECT_TRUE(elsewhere == original);
  EXPECT_TRUE(elsewhere.get_allocator() == make.second());
  copy.clear();
  EXPECT_TRUE(elsewhere == original);  // no elements are shared
}

template <class Container, class World>
void copies_assign(World& world) {
  const maker<Container, World> make{world};
  constexpr bool propagates = traits_of<Container>::propagate_on_container_copy_assignment::value;
  const Container source = make.in_first(100);
  for (const int held : {0, 10, 150}) {
    Container target = make.in_second(held, 500);
    target = source;
    EXPECT_TRUE(target == source);
    EXPECT_TRUE(target.get_allocator() == (propagates ? make.first() : make.second()));
    Container neighbour = make.in_first(held, 500);
    neighbour = source;
    EXPECT_TRUE(neighbour == source);
  }
  Container same = source;
  const Container& itself = same;
  same = itself;
  EXPECT_TRUE(same == source);
}

template <class Container, class World>
void moves_construct(World& world) {
  const maker<Container, World> make{world};
  const Container expected = make.in_first(100);
  Container source = make.in_first(100);
  const void* const place = place_of(source);
  Container taken = std::move(source);
  EXPECT_TRUE(taken == expected);
  EXPECT_EQ(place_of(taken), place);
  EXPECT_TRUE(taken.get_allocator() == make.first());
  expect_reusable(source);
  Container beside(std::move(taken), make.first());
  EXPECT_TRUE(beside == expected);
  EXPECT_EQ(place_of(beside), place);
  expect_reusable(taken);
  const Container elsewhere(std::move(beside), make.second());
  EXPECT_TRUE(elsewhere == expected);
  EXPECT_TRUE(elsewhere.get_allocator() == make.second());
  EXPECT_EQ(place_of(elsewhere) != place, World::apart);
  expect_reusable(beside);
}

template <class Container, class World>
void moves_assign(World& world) {
  const maker<Container, World> make{world};
  constexpr bool propagates = traits_of<Container>::propagate_on_container_move_assignment::value;
  const Container expected = make.in_first(100);
  for (const int held : {0, 10, 150}) {
    Container source = make.in_first(100);
    const void* const place = place_of(source);
    Container neighbour = make.in_first(held, 500);
    neighbour = std::move(source);
    EXPECT_TRUE(neighbour == expected);
    EXPECT_EQ(place_of(neighbour), place);
    expect_reusable(source);
    Container target = make.in_second(held, 500);
    target = std::move(neighbour);
    EXPECT_TRUE(target == expected);
    EXPECT_TRUE(target.get_allocator() == (propagates ? make.first() : make.second()));
    EXPECT_EQ(place_of(target) == place, propagates || !World::apart);  // otherwise element by element
    expect_reusable(neighbour);
  }
}

// Between unequal allocators that do not propagate, swap is undefined.
template <class Container, class World>
void swaps(World& world) {
  const maker<Container, World> make{world};
  const auto exchange = [](Container& a, Container& b) {
    const std::pair places(place_of(a), place_of(b));
    const std::pair counts(count_of(a), count_of(b));
    a.swap(b);
    EXPECT_TRUE(std::pair(place_of(b), place_of(a)) == places);
    EXPECT_TRUE(std::pair(count_of(b), count_of(a)) == counts);
    using std::swap;
    swap(a, b);
    EXPECT_TRUE(std::pair(place_of(a), place_of(b)) == places);
    a.swap(b);
  };
  Container a = make.in_first(100);
  Container b = make.in_first(50, 500);
  exchange(a, b);
  if constexpr (traits_of<Container>::propagate_on_container_swap::value || !World::apart) {
    Container c = make.in_second(40, 500);
    exchange(b, c);
    EXPECT_TRUE(b.get_allocator() == make.second());
    EXPECT_TRUE(c.get_allocator() == make.first());
    expect_reusable(c);
  }
  expect_reusable(a);
  expect_reusable(b);
}

/// Effects: calls `f` in a thread, unless the allocators of the world are bound to this one.
template <class World, class F>
void in_another_thread(const F& f) {
  if constexpr (requires { requires World::is_of_one_thread; }) f();
  else std::thread(f).join();
}

// Two threads, one after the other: one ends while its containers live, the other frees their blocks.
template <class Container, class World>
void changes_threads(World& world) {
  const maker<Container, World> make{world};
  std::vector<Container> built;
  in_another_thread<World>([&] {
    for (int i = 0; i < 4; ++i) built.push_back(make.in_first(200));
  });
  Container kept = std::move(built.back());
  EXPECT_EQ(count_of(kept), 200);
  expect_reusable(kept);
  in_another_thread<World>([&] {
    built.clear();
    expect_reusable(kept);
  });
}

template <class Container, class World>
void grows_and_shrinks(World& world) {
  const maker<Container, World> make{world};
  Container c = make.in_first(0);
  for (int round = 0; round < 3; ++round) {
    fill(c, 1000);
    std::erase_if(c, [drop = false](const auto&) mutable { return drop = !drop; });
    EXPECT_EQ(count_of(c), 500);
    if constexpr (requires { c.shrink_to_fit(); }) c.shrink_to_fit();
    if constexpr (requires { c.rehash(0); }) c.rehash(0);
    c.clear();
  }
  EXPECT_TRUE(c.get_allocator() == make.first());
}

}  // namespace ashlar_test
