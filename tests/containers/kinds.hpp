// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kind of container over every allocator of a world, as a list of types for typed tests.
#pragma once

#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "tests/face/containers.hpp"
#include "tests/support/types_of_build.hpp"

namespace ashlar_test {

struct multisets {
  template <template <class> class A>
  using of = std::multiset<int, std::less<>, A<int>>;
};
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
using every_container =
    types_of_build<one_of_each<World>,
                   ::testing::Types<living_in<World, lists>, living_in<World, forward_lists>, living_in<World, maps>,
                                    living_in<World, multimaps>, living_in<World, sets>, living_in<World, multisets>,
                                    living_in<World, unordered_maps>, living_in<World, unordered_sets>,
                                    living_in<World, vectors>, living_in<World, deques>, living_in<World, strings>>>;

}  // namespace ashlar_test
