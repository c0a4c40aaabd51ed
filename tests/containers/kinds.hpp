// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kind of container, one way to fill each, and all of them over every allocator of a world, for typed tests.
#pragma once

#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"

namespace ashlar_test {

/// An element of a container of `Key` and, for a map, `int`.
template <class Container>
[[nodiscard]] typename Container::value_type element(int i) {
  if constexpr (requires { typename Container::mapped_type; }) return {i, i};
  else return static_cast<typename Container::value_type>(i);
}

/// Effects: adds `count` elements, each different while there are few.
template <class Container>
void fill(Container& c, int count, int from = 0) {
  for (int i = from; i < from + count; ++i) {
    if constexpr (requires { c.insert(element<Container>(i)); }) c.insert(element<Container>(i));
    else if constexpr (requires { c.push_back(element<Container>(i)); }) c.push_back(element<Container>(i));
    else c.push_front(element<Container>(i));
  }
}

/// Each kind makes a container type out of an allocator template.
template <template <class, class> class Sequence>
struct sequences {
  template <template <class> class A>
  using of = Sequence<int, A<int>>;
};
template <template <class, class, class> class Set>
struct ordered_sets {
  template <template <class> class A>
  using of = Set<int, std::less<>, A<int>>;
};
template <template <class, class, class, class> class Map>
struct ordered_maps {
  template <template <class> class A>
  using of = Map<int, int, std::less<>, A<std::pair<const int, int>>>;
};
struct unordered_maps {
  template <template <class> class A>
  using of = std::unordered_map<int, int, std::hash<int>, std::equal_to<>, A<std::pair<const int, int>>>;
};
struct unordered_sets {
  template <template <class> class A>
  using of = std::unordered_set<int, std::hash<int>, std::equal_to<>, A<int>>;
};
struct strings {
  template <template <class> class A>
  using of = std::basic_string<char, std::char_traits<char>, A<char>>;
};
using lists = sequences<std::list>;
using maps = ordered_maps<std::map>;
using vectors = sequences<std::vector>;
using deques = sequences<std::deque>;

/// A kind of container in a world (see worlds.hpp).
template <class World, class Kind>
struct living_in {
  using world = World;
  using container = typename Kind::template of<World::template allocator>;
};

/// One container of each way to ask for memory: nodes, nodes and a table, one block, blocks and a map of them.
template <class World>
using one_of_each = ::testing::Types<living_in<World, lists>, living_in<World, maps>, living_in<World, unordered_maps>,
                                     living_in<World, vectors>, living_in<World, deques>>;

template <class World>
using every_container = types_of_build<
    one_of_each<World>,
    ::testing::Types<living_in<World, lists>, living_in<World, sequences<std::forward_list>>, living_in<World, maps>,
                     living_in<World, ordered_maps<std::multimap>>, living_in<World, ordered_sets<std::set>>,
                     living_in<World, ordered_sets<std::multiset>>, living_in<World, unordered_maps>,
                     living_in<World, unordered_sets>, living_in<World, vectors>, living_in<World, deques>,
                     living_in<World, strings>>>;

}  // namespace ashlar_test
