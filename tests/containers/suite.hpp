// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The suite for every allocator: all laws for each kind of container, with a final balance of zero.
#pragma once

#include <cstddef>
#include <new>

#include <gtest/gtest.h>

#include "tests/containers/kinds.hpp"
#include "tests/containers/laws.hpp"
#include "tests/containers/node_laws.hpp"
#include "tests/containers/worlds.hpp"

namespace ashlar_test {

/// `INSTANTIATE_TYPED_TEST_SUITE_P(name, containers, every_container<world>)` runs it. Each test has its own world.
template <class Living>
class containers : public ::testing::Test {
protected:
  using container = typename Living::container;
  typename Living::world world_;

  void TearDown() override { EXPECT_EQ(world_.balance(), nothing); }
};

TYPED_TEST_SUITE_P(containers);

TYPED_TEST_P(containers, copy) {
  copies_construct<typename TestFixture::container>(this->world_);
  copies_assign<typename TestFixture::container>(this->world_);
}

TYPED_TEST_P(containers, move) {
  moves_construct<typename TestFixture::container>(this->world_);
  moves_assign<typename TestFixture::container>(this->world_);
}

TYPED_TEST_P(containers, swap) { swaps<typename TestFixture::container>(this->world_); }

TYPED_TEST_P(containers, pass_on_nodes) {
  splices<typename TestFixture::container>(this->world_);
  merges<typename TestFixture::container>(this->world_);
  extracts<typename TestFixture::container>(this->world_);
}

TYPED_TEST_P(containers, nest) { nests<typename TestFixture::container>(this->world_); }

TYPED_TEST_P(containers, change_threads) { changes_threads<typename TestFixture::container>(this->world_); }

TYPED_TEST_P(containers, grow_and_shrink) { grows_and_shrinks<typename TestFixture::container>(this->world_); }

/// The deque of libstdc++ 12 leaks if its allocators are always equal: its allocator-extended move constructor takes
/// the source's memory, then allocates a map for the source, and loses the memory if that fails.
#if defined(__GLIBCXX__)
template <class Container>
inline constexpr bool leaks_by_itself =
    traits_of<Container>::is_always_equal::value && requires(Container c) { c.pop_front(), c.shrink_to_fit(); };
#else
template <class Container>
inline constexpr bool leaks_by_itself = false;
#endif

#if defined(__cpp_exceptions)

template <class Container, class World>
void uses_both_places(World& world) {
  const maker<Container, World> make{world};
  Container source = make.in_first(40);
  Container target = make.in_second(10, 500);
  target = source;
  const Container copy = target;
  const Container moved(std::move(source), make.second());
  EXPECT_EQ(count_of(moved), 40);
}

template <class Living>
void survives_each_failure() {
  bool refused = true;
  for (std::size_t k = 0; refused; ++k) {
    typename Living::world world;
    world.fail_at(k);
    try {
      uses_both_places<typename Living::container>(world);
    } catch (const std::bad_alloc&) {
      EXPECT_GT(world.refusals(), 0u);
    }
    refused = world.refusals() != 0;
    ASSERT_EQ(world.balance(), nothing) << "after failure " << k;
  }
}

#else

template <class Living>
void survives_each_failure() {}

#endif

TYPED_TEST_P(containers, leave_nothing_behind_when_an_allocation_fails) {
  if constexpr (requires { this->world_.fail_at(0); } && !leaks_by_itself<typename TestFixture::container>)
    survives_each_failure<TypeParam>();
}

REGISTER_TYPED_TEST_SUITE_P(containers, copy, move, swap, pass_on_nodes, nest, change_threads, grow_and_shrink,
                            leave_nothing_behind_when_an_allocation_fails);

}  // namespace ashlar_test
