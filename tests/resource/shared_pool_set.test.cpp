// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of pools of all sizes for any thread: resource laws, blocks that change threads, ends of threads, forks.
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <optional>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/latch.hpp"
#include "tests/support/stress.hpp"

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

TEST(shared_pool_set, allocates_nothing_until_it_is_asked) {
  counting_resource<> upstream;
  counted_set pools({}, upstream);
  EXPECT_FALSE(pools.owns(&pools));
  EXPECT_EQ(pools.live() + pools.trim(), 0u);
  pools.flush();
  pools.release();
  EXPECT_EQ(upstream.allocations(), 0u);
}

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

struct handed_block {
  unsigned char* data = nullptr;
  std::size_t bytes = 0;
};

// Each thread fills a slot with a block and frees the other's block there; marks show the last writer.
TEST(shared_pool_set, blocks_of_all_sizes_cross_between_threads) {
  shared_pool_set<> pools;
  constexpr std::size_t slots = 64;
  const std::size_t rounds = ashlar_test::stress_rounds(200);
  std::array<std::array<handed_block, slots>, 2> ours{};
  std::barrier together(2);
  std::atomic<std::size_t> wrong = 0;
  const auto body = [&](std::size_t me) {
    std::mt19937 random(static_cast<unsigned>(me) + 1);
    for (std::size_t round = 0; round < rounds; ++round) {
      for (handed_block& slot : ours[me]) {
        slot.bytes = 1 + random() % (random() % 16 == 0 ? 50'000 : 300);
        slot.data = static_cast<unsigned char*>(pools.allocate(slot.bytes, 8));
        slot.data[0] = slot.data[slot.bytes - 1] = static_cast<unsigned char>(round);
      }
      together.arrive_and_wait();
      for (const handed_block& slot : ours[1 - me]) {
        if (slot.data[0] != static_cast<unsigned char>(round) || slot.data[slot.bytes - 1] != slot.data[0]) ++wrong;
        pools.deallocate(slot.data, slot.bytes, 8);
      }
      together.arrive_and_wait();
    }
  };
  std::thread first(body, 0);
  std::thread second(body, 1);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(pools.live(), 0u);
  EXPECT_TRUE(pools.invariant());
}

TEST(shared_pool_set, may_end_before_the_threads_that_used_it) {
  counting_resource<> upstream;
  std::optional<counted_set> pools;
  pools.emplace(ashlar::pool_set_options{}, upstream);
  ashlar_test::latch used(2);
  ashlar_test::latch gone(1);
  const auto body = [&] {
    for (const std::size_t bytes : {8u, 24u, 1000u}) pools->deallocate(pools->allocate(bytes, 8), bytes, 8);
    used.count_down();
    gone.wait();
  };
  std::thread first(body);
  std::thread second(body);
  used.wait();
  pools.reset();
  EXPECT_EQ(upstream.balance(), nothing);
  gone.count_down();
  first.join();
  second.join();
}

}  // namespace

namespace ashlar_test {
using shared_pool_sets = ashlar_test::subjects<shared_cells, shared_large_blocks, shared_over_pages>;
const bool tested = conforms("shared_pool_set", shared_pool_sets{});
}  // namespace ashlar_test
