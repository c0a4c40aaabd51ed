// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools of all sizes for any thread: resource laws, and a release with blocks live.
#include <cstddef>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::resource_ref;
using ashlar::shared_pool_set;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using counted_set = shared_pool_set<ashlar::synchronized<resource_ref<counting_resource<>>>>;

struct shared_cells : ashlar_test::conformance_defaults {
  counting_resource<> upstream;
  counted_set resource{{.max_growth_count = 40}, upstream};
};

struct shared_large_blocks : ashlar_test::conformance_defaults {
  static constexpr std::size_t largest = 40'000;
  static constexpr std::size_t churn_steps = 500;
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  counted_set resource{{}, upstream};
};

struct shared_over_pages : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  shared_pool_set<> resource;
};

TEST(shared_pool_set, release_restores_the_initial_state_with_blocks_live) {
  counting_resource<> upstream;
  counted_set pools({}, upstream);
  for (int round = 0; round < 2; ++round) {
    std::thread([&] { static_cast<void>(pools.allocate(24, 8)); }).join();  // its cache went with it
    for (std::size_t bytes = 1; bytes < 100'000; bytes += 1 + bytes / 2) static_cast<void>(pools.allocate(bytes, 8));
    EXPECT_NE(pools.live(), 0u);
    pools.release();
    EXPECT_EQ(pools.live(), 0u);
    EXPECT_EQ(upstream.balance(), nothing);
    EXPECT_TRUE(pools.invariant());
  }
}

using shared_pool_sets = ashlar_test::subjects<shared_cells, shared_large_blocks, shared_over_pages>;
const bool tested = ashlar_test::conforms("shared_pool_set", shared_pool_sets{});

}  // namespace
