// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the pools of all sizes: the laws of a resource, every class and alignment, failing upstreams, giving back.
#include <cstddef>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/pool_set.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/meddling_resource.hpp"

namespace {

using ashlar::pool_set;
using ashlar::resource_ref;
using ashlar::detail::pool_classes;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using counted_set = pool_set<resource_ref<counting_resource<>>>;

static_assert(!std::is_default_constructible_v<counted_set> && std::is_default_constructible_v<pool_set<>>);

struct cells_of_all_sizes : ashlar_test::conformance_defaults {
  counting_resource<> upstream;
  counted_set resource{{.max_growth_count = 40}, upstream};
};

struct large_blocks_too : ashlar_test::conformance_defaults {
  static constexpr std::size_t largest = 40'000;
  static constexpr std::size_t churn_steps = 300;
  static constexpr bool reuses = false;  // each large block is an upstream call
  counting_resource<> upstream;
  counted_set resource{{}, upstream};
};

struct over_a_throwing_upstream : ashlar_test::conformance_defaults {
  [[maybe_unused]] static constexpr std::size_t max_alignment = 64;
  counting_resource<> upstream;
  pool_set<ashlar_test::throwing_only<>> resource{{}, upstream};
};

struct over_pages : ashlar_test::conformance_defaults {
  [[maybe_unused]] static constexpr bool exhaustible = false;
  pool_set<> resource;
};

constinit pool_set<> before_main;  // constructed at compile time: nothing is allocated

TEST(pool_set, allocates_nothing_until_it_is_asked) {
  counting_resource<> upstream;
  counted_set pools({}, upstream);
  EXPECT_EQ(pools.live(), 0u);
  EXPECT_FALSE(pools.owns(&pools));
  EXPECT_EQ(pools.trim(), 0u);
  pools.release();
  EXPECT_EQ(upstream.allocations() + upstream.refusals(), 0u);
  before_main.deallocate(before_main.allocate(24, 8), 24, 8);
}

TEST(pool_set, serves_each_size_from_the_pool_of_its_class) {
  counting_resource<> upstream;
  counted_set pools({}, upstream);
  std::size_t made = 0;
  for (std::size_t bytes = 0; bytes <= pool_classes::largest; bytes += 1 + bytes / 16)
    for (std::size_t alignment = 1; alignment <= ashlar::detail::largest_cell_alignment; alignment *= 4) {
      void* const p = pools.allocate(bytes, alignment);
      ASSERT_TRUE(ashlar::is_aligned(p, alignment));
      const std::size_t cell = pool_classes::rounded(bytes, alignment);
      bool found = false;
      pools.for_each_pool([&](const auto& pool) { found = found || (pool.owns(p) && pool.cell_bytes() == cell); });
      ASSERT_TRUE(found) << bytes << " at " << alignment;
      pools.deallocate(p, bytes, alignment);
    }
  pools.for_each_pool([&](const auto&) { ++made; });
  EXPECT_LE(made, pool_classes::count);
  EXPECT_TRUE(pools.invariant());
  EXPECT_EQ(pools.live(), 0u);
}

TEST(pool_set, returns_the_actual_size_of_a_block) {
  pool_set<> pools;
  const ashlar::block got = pools.allocate_at_least(130, 1);
  EXPECT_EQ(got.size, ashlar::checking_level >= ashlar::checking::hardened ? 130u : 144u);
  pools.deallocate(got.data, got.size, 1);
  const ashlar::block large = pools.allocate_at_least(50'000, 1);
  EXPECT_EQ(large.size, 50'000u);
  pools.deallocate(large.data, large.size, 1);
}

TEST(pool_set, asks_for_more_at_once_as_it_grows_and_never_for_more_than_four_mebibytes) {
  counting_resource<> upstream;
  counted_set pools({}, upstream);
  constexpr std::size_t cells = ashlar_test::is_slow ? 200 : 2000;
  std::vector<void*> held;
  for (std::size_t i = 0; i < cells; ++i) held.push_back(pools.allocate(16 * 1024, 16));
  const std::size_t regions = upstream.allocations();
  EXPECT_LT(regions, cells / 7) << "one slab of eight at a time were more";
  EXPECT_LT(upstream.balance().bytes, cells * 16 * 1024 * 4 / 3 + (std::size_t{1} << 20));
  for (void* const p : held) pools.deallocate(p, 16 * 1024, 16);
  EXPECT_GT(pools.trim(), 0u);
  EXPECT_EQ(upstream.balance().blocks, 1u) << "the pool itself";
  EXPECT_TRUE(pools.invariant());
}

TEST(pool_set, may_be_used_by_its_upstream_meanwhile) {
  ashlar_test::meddling_resource upstream;
  pool_set<resource_ref<ashlar_test::meddling_resource>> pools({}, upstream);
  void* nested = nullptr;
  upstream.meddle = [&] { nested = pools.allocate(24, 8); };
  void* const outer = pools.allocate(24, 8);
  EXPECT_NE(nested, outer);
  EXPECT_EQ(pools.live(), 2u);
  EXPECT_TRUE(pools.invariant());
  pools.release();
  EXPECT_EQ(upstream.upstream.balance(), nothing);
}

// The pool of a class and its first slab share a block, in which the slab starts again after a release.
TEST(pool_set, starts_a_class_with_a_kibibyte) {
  counting_resource<> upstream;
  counted_set pools({}, upstream);
  for (int life = 0; life < 2; ++life) {
    for (int i = 0; i < 3; ++i) static_cast<void>(pools.allocate(64, 16));
    if constexpr (ashlar::checking_level < ashlar::checking::checked) EXPECT_EQ(upstream.balance().bytes, 1024u);
    EXPECT_EQ(upstream.balance().blocks, 1u);
    EXPECT_EQ(pools.trim(), 0u);
    EXPECT_TRUE(pools.invariant());
    pools.release();
    EXPECT_EQ(upstream.balance(), nothing);
  }
}

TEST(pool_set, owns_a_large_block_of_no_bytes) {
  ashlar::pool_set<> pools;
  void* const p = pools.allocate(0, 512);  // above the largest alignment of cells
  EXPECT_TRUE(pools.owns(p));
  pools.deallocate(p, 0, 512);
  EXPECT_FALSE(pools.owns(p));
}

using throwing = std::conditional_t<ashlar_test::has_exceptions, over_a_throwing_upstream, over_pages>;
const bool tested = ashlar_test::conforms<cells_of_all_sizes, large_blocks_too, throwing>("pool_set");

}  // namespace
