// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers over compositions: elements of both sides are copied, moved, swapped, spliced and extracted, and each goes
// back to its side.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/base/resource.hpp>

#include "tests/containers/laws.hpp"
#include "tests/containers/node_laws.hpp"
#include "tests/containers/worlds.hpp"
#include "tests/support/able_resource.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using namespace ashlar_test;

// Small blocks lie in a first side, while it has room, or in the second; large ones pass a gate.
struct composed_place {
  using counted = ashlar::resource_ref<counting_resource<>>;
  using both_sides = ashlar::fallback<able_resource<>, counted>;
  counting_resource<> first;
  counting_resource<> second;
  counting_resource<> large;
  both_sides small{first, second};
  ashlar::segregator<ashlar::resource_ref<both_sides>, ashlar::fallback_monitor<counted>> resource{
      ashlar::threshold{300}, small, large};

  composed_place() { first.limit_bytes(1500); }
  [[nodiscard]] counting_resource<>& upstream() { return second; }
  [[nodiscard]] holdings balance() const { return first.balance() + second.balance() + large.balance(); }
};

template <class Kind>
class containers_over_compositions : public ::testing::Test {
protected:
  using world_type = resource_world<composed_place>;
  using container = typename Kind::template of<world_type::template allocator>;
  world_type world_;

  void TearDown() override { EXPECT_EQ(world_.balance(), nothing); }
};

using kinds = ::testing::Types<lists, maps, unordered_sets, vectors, deques>;
TYPED_TEST_SUITE(containers_over_compositions, kinds);

TYPED_TEST(containers_over_compositions, take_their_memory_along_or_leave_it) {
  using container = typename TestFixture::container;
  copies_construct<container>(this->world_);
  copies_assign<container>(this->world_);
  moves_construct<container>(this->world_);
  moves_assign<container>(this->world_);
  swaps<container>(this->world_);
}

TYPED_TEST(containers_over_compositions, pass_on_nodes) {
  using container = typename TestFixture::container;
  splices<container>(this->world_);
  merges<container>(this->world_);
  extracts<container>(this->world_);
}

}  // namespace
