// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the statistics adaptor: every counter against an oracle.
#include <algorithm>
#include <cstddef>
#include <new>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/live_blocks.hpp"

namespace {

using ashlar::allocation_counters;
using ashlar::resource_ref;
using ashlar::statistics;
using ashlar_test::counting_resource;

// An empty resource adds nothing to the counters.
static_assert(sizeof(statistics<ashlar::new_delete_resource>) == sizeof(allocation_counters));

TEST(statistics, counts_as_its_upstream_does) {
  counting_resource<> upstream;
  statistics<resource_ref<counting_resource<>>> counted(upstream);
  ashlar_test::live_blocks blocks(counted);
  allocation_counters expected;
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    if (random() % 10 == 0) upstream.fail_at(0);
    const std::size_t bytes = random() % 300;
    if (blocks.size() != 0 && random() % 2 != 0) {
      blocks.free(random() % blocks.size());
    } else if (blocks.try_allocate(bytes, 8)) {
      expected.allocated_bytes += bytes;
      expected.largest_request = std::max(expected.largest_request, bytes);
    }
    expected.allocations = upstream.allocations();
    expected.deallocations = upstream.deallocations();
    expected.failures = upstream.refusals();
    expected.live_blocks = upstream.balance().blocks;
    expected.live_bytes = upstream.balance().bytes;
    expected.peak_blocks = upstream.peak().blocks;
    expected.peak_bytes = upstream.peak().bytes;
    ASSERT_EQ(counted.counters(), expected) << "step " << step;
    ASSERT_TRUE(counted.invariant());
  }
  blocks.free_all();
  EXPECT_EQ(counted.counters().live_blocks, 0u);
  EXPECT_GT(counted.counters().failures, 0u);
}

TEST(statistics, counts_a_failure_by_exception_and_by_null) {
  statistics<ashlar::null_resource> counted;
  EXPECT_EQ(counted.try_allocate(10, 1), nullptr);
  EXPECT_EQ(counted.counters().failures, 1u);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(counted.allocate(10, 1)), std::bad_alloc);
  EXPECT_EQ(counted.counters().failures, 2u);
#endif
  EXPECT_EQ(counted.counters().allocations, 0u);
  EXPECT_EQ(counted.counters().largest_request, 0u);
}

TEST(statistics, release_counts_what_was_live_as_freed) {
  ashlar::inline_buffer<256> buffer;
  statistics<resource_ref<ashlar::buffer_resource>> counted{resource_ref<ashlar::buffer_resource>(buffer)};
  static_cast<void>(counted.allocate(100, 1));
  static_cast<void>(counted.allocate(50, 1));
  counted.release();
  const allocation_counters expected = {.allocations = 2,
                                        .deallocations = 2,
                                        .allocated_bytes = 150,
                                        .peak_blocks = 2,
                                        .peak_bytes = 150,
                                        .largest_request = 100};
  EXPECT_EQ(counted.counters(), expected);
  EXPECT_EQ(buffer.used(), 0u);
}

TEST(statistics, an_expanded_block_counts_with_its_new_size) {
  statistics<ashlar_test::roomy> counted;
  void* const p = counted.allocate(40, 8);
  EXPECT_TRUE(counted.try_expand(p, 40, 90, 8));
  EXPECT_EQ(counted.counters().live_bytes, 90u);
  EXPECT_FALSE(counted.try_expand(p, 90, 1001, 8));
  EXPECT_EQ(counted.counters().live_bytes, 90u);
  EXPECT_TRUE(counted.try_expand(p, 90, 10, 8));
  EXPECT_EQ(counted.counters().live_bytes, 10u);
  EXPECT_EQ(counted.counters().peak_bytes, 90u);
  counted.deallocate(p, 10, 8);
  EXPECT_EQ(counted.counters().live_bytes, 0u);
}

TEST(statistics, starts_again_from_the_live_blocks) {
  statistics<ashlar::new_delete_resource> counted;
  void* const small = counted.allocate(10, 1);
  void* const large = counted.allocate(1000, 1);
  counted.deallocate(large, 1000, 1);
  counted.reset_counters();
  const allocation_counters expected = {.live_blocks = 1, .live_bytes = 10, .peak_blocks = 1, .peak_bytes = 10};
  EXPECT_EQ(counted.counters(), expected);
  counted.deallocate(small, 10, 1);
  EXPECT_TRUE(counted.invariant());
}

TEST(statistics, equals_itself_only) {
  const statistics<ashlar::new_delete_resource> a;
  const statistics<ashlar::new_delete_resource> b;
  EXPECT_TRUE(a == a);
  EXPECT_FALSE(a == b);  // a block freed to another one would make both counts wrong
}

}  // namespace
