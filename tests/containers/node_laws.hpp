// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves between containers without an allocation: spliced, merged and extracted nodes. All of it is defined between
// equal allocators only.
#pragma once

#include <iterator>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/containers/laws.hpp"

namespace ashlar_test {

template <class Container, class World>
void splices(World& world) {
  const maker<Container, World> make{world};
  Container a = make.in_first(10);
  Container b = make.in_first(20, 100);
  const void* const place = place_of(b);
  if constexpr (requires { a.splice(a.begin(), b); }) {
    a.splice(a.begin(), b, b.begin());
    EXPECT_EQ(place_of(a), place);
    a.splice(a.end(), b, b.begin(), std::next(b.begin(), 5));
    a.splice(a.end(), std::move(b));
  } else if constexpr (requires { a.splice_after(a.before_begin(), b); }) {
    a.splice_after(a.before_begin(), b, b.before_begin());
    EXPECT_EQ(place_of(a), place);
    a.splice_after(a.begin(), b, b.before_begin(), std::next(b.begin(), 5));
    a.splice_after(a.begin(), std::move(b));
  } else {
    return;
  }
  EXPECT_EQ(count_of(a), 30);
  EXPECT_TRUE(b.empty());
  b = std::move(a);
  EXPECT_EQ(count_of(b), 30);
}

template <class Container, class World>
void merges(World& world) {
  const maker<Container, World> make{world};
  Container a = make.in_first(20);
  Container b = make.in_first(20, 10);
  if constexpr (requires { a.merge(b); }) {
    if constexpr (requires { a.sort(); }) a.sort(), b.sort();
    const auto total = count_of(a) + count_of(b);
    a.merge(b);
    EXPECT_EQ(count_of(a) + count_of(b), total);
    Container c = make.in_first(0);
    if constexpr (requires { c.sort(); }) a.sort();
    c.merge(std::move(a));
    EXPECT_TRUE(a.empty());
    EXPECT_GE(count_of(c), 30);
  }
}

template <class Container, class World>
void extracts(World& world) {
  if constexpr (requires { typename Container::node_type; }) {
    const maker<Container, World> make{world};
    std::optional<Container> source = make.in_first(50);
    Container target = make.in_first(10, 45);
    auto node = source->extract(source->begin());
    EXPECT_TRUE(node.get_allocator() == make.first());
    if constexpr (requires { node.mapped(); }) node.key() = 1000;
    else node.value() = 1000;
    target.insert(std::move(node));
    EXPECT_EQ(target.count(1000), 1u);
    EXPECT_TRUE(node.empty());
    target.insert(source->extract(47));  // is there already: refused unless keys may repeat
    auto survivor = source->extract(20);
    auto dropped = source->extract(21);
    EXPECT_EQ(count_of(*source), 46);
    source.reset();  // the nodes outlive their container
    target.insert(std::move(survivor));
    EXPECT_EQ(target.count(20), 1u);
    EXPECT_FALSE(dropped.empty());
  }
}

/// Nested containers get the allocator of the outer one, on every way in.
template <class Container, class World>
void nests(World& world) {
  using nesting = typename World::template nesting<Container>;
  const maker<Container, World> make{world};
  const auto expect_all_in = [](const auto& outer, const auto& alloc) {
    for (const Container& inner : outer) EXPECT_TRUE(inner.get_allocator() == alloc);
  };
  std::vector<Container, nesting> outer{nesting(world.template first<Container>())};
  for (int i = 0; i < 5; ++i) fill(outer.emplace_back(), 40);
  outer.push_back(make.in_second(40));  // copied or moved from another container
  expect_all_in(outer, make.first());
  std::list<Container, nesting> moved{nesting(world.template second<Container>())};
  for (Container& inner : outer) moved.push_back(std::move(inner));
  expect_all_in(moved, make.second());
  std::list<Container, nesting> there(moved, nesting(world.template first<Container>()));
  expect_all_in(there, make.first());
  EXPECT_TRUE(there == moved);
  there = std::move(moved);
  expect_all_in(there, typename Container::allocator_type(there.get_allocator()));
  EXPECT_EQ(there.size(), 6u);
  for (const Container& inner : there) EXPECT_EQ(count_of(inner), 40);
}

}  // namespace ashlar_test
