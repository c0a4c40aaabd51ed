// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the statistics adaptor: every counter against an oracle, and the refinements of its upstream.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::allocation_counters;
using ashlar::resource_ref;
using ashlar::statistics;
using ashlar_test::counting_resource;

// Grows blocks of operator new in place, up to 100 bytes.
struct expanding : ashlar::new_delete_resource {
  void* allocate(std::size_t, std::size_t alignment) { return new_delete_resource::allocate(100, alignment); }
  bool try_expand(void*, std::size_t, std::size_t new_bytes, std::size_t) noexcept { return new_bytes <= 100; }
};

template <class R>
constexpr bool has_exactly_the_refinements_of =
    ashlar::try_resource<statistics<R>> == ashlar::try_resource<R> &&
    ashlar::owning_resource<statistics<R>> == ashlar::owning_resource<R> &&
    ashlar::releasable_resource<statistics<R>> == ashlar::releasable_resource<R> &&
    ashlar::expanding_resource<statistics<R>> == ashlar::expanding_resource<R> &&
    ashlar::detail::prefaulting_resource<statistics<R>> == ashlar::detail::prefaulting_resource<R> &&
    !ashlar::self_describing_resource<statistics<R>>;  // a block must be freed with its size, to be counted

static_assert(has_exactly_the_refinements_of<ashlar::new_delete_resource>);
static_assert(has_exactly_the_refinements_of<ashlar::null_resource>);
static_assert(has_exactly_the_refinements_of<ashlar::page_resource>);
static_assert(has_exactly_the_refinements_of<resource_ref<ashlar::buffer_resource>>);
static_assert(has_exactly_the_refinements_of<resource_ref<ashlar::block_pool<>>>);
static_assert(has_exactly_the_refinements_of<resource_ref<std::pmr::memory_resource>>);
static_assert(has_exactly_the_refinements_of<ashlar_test::throwing_only<>>);
static_assert(has_exactly_the_refinements_of<expanding> && ashlar::expanding_resource<expanding>);

// An empty resource adds nothing to the counters.
static_assert(sizeof(statistics<ashlar::new_delete_resource>) == sizeof(allocation_counters));

struct counted_operator_new : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  statistics<ashlar::new_delete_resource> resource;
};

struct counted_upstream : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  statistics<resource_ref<counting_resource<>>> resource{upstream};
};

struct counted_buffer : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 64;
  static constexpr bool bounded = true;
  static constexpr bool any_order = false;
  ashlar::inline_buffer<64 * 1024> buffer;
  statistics<resource_ref<ashlar::buffer_resource>> resource{resource_ref<ashlar::buffer_resource>(buffer)};
};

// The oracle: the same counters in the simplest form.
class oracle {
public:
  void allocated(std::size_t bytes) {
    live_.push_back(bytes);
    expected.allocations += 1;
    expected.allocated_bytes += bytes;
    expected.largest_request = std::max(expected.largest_request, bytes);
    recount();
  }
  void deallocated(std::size_t index) {
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(index));
    expected.deallocations += 1;
    recount();
  }
  void failed() { expected.failures += 1; }

  allocation_counters expected;

private:
  void recount() {
    expected.live_blocks = live_.size();
    expected.live_bytes = 0;
    for (const std::size_t bytes : live_) expected.live_bytes += bytes;
    expected.peak_blocks = std::max(expected.peak_blocks, expected.live_blocks);
    expected.peak_bytes = std::max(expected.peak_bytes, expected.live_bytes);
  }

  std::vector<std::size_t> live_;
};

TEST(statistics, counts_as_an_oracle_does) {
  struct held {
    void* data;
    std::size_t bytes;
  };
  counting_resource<> upstream;
  statistics<resource_ref<counting_resource<>>> counted(upstream);
  oracle book;
  std::vector<held> blocks;
  std::mt19937 random(1);
  for (int step = 0; step < 5000; ++step) {
    if (random() % 10 == 0) upstream.fail_at(0);
    const std::size_t bytes = random() % 300;
    if (blocks.empty() || random() % 2 == 0) {
      void* const p = counted.try_allocate(bytes, 8);
      if (p != nullptr) blocks.push_back({p, bytes});
      p != nullptr ? book.allocated(bytes) : book.failed();
    } else {
      const std::size_t index = random() % blocks.size();
      counted.deallocate(blocks[index].data, blocks[index].bytes, 8);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(index));
      book.deallocated(index);
    }
    ASSERT_EQ(counted.counters(), book.expected) << "step " << step;
    ASSERT_EQ(counted.counters().live_bytes, upstream.balance().bytes);
    ASSERT_TRUE(counted.invariant());
  }
  for (const held& each : blocks) counted.deallocate(each.data, each.bytes, 8);
  EXPECT_EQ(counted.counters().live_blocks, 0u);
  EXPECT_GT(counted.counters().failures, 0u);
}

TEST(statistics, owns_a_resource_that_cannot_move) {
  statistics<ashlar::block_pool<>> pool(ashlar::block_pool_options{.cell_bytes = 24});
  void* const cell = pool.allocate(24, 8);
  EXPECT_EQ(pool.upstream_resource().live(), pool.counters().live_blocks);
  pool.deallocate(cell, 24, 8);
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
                                        .failures = 0,
                                        .allocated_bytes = 150,
                                        .live_blocks = 0,
                                        .live_bytes = 0,
                                        .peak_blocks = 2,
                                        .peak_bytes = 150,
                                        .largest_request = 100};
  EXPECT_EQ(counted.counters(), expected);
  EXPECT_EQ(buffer.used(), 0u);
}

TEST(statistics, an_expanded_block_counts_with_its_new_size) {
  statistics<expanding> counted;
  void* const p = counted.allocate(40, 8);
  EXPECT_TRUE(counted.try_expand(p, 40, 90, 8));
  EXPECT_EQ(counted.counters().live_bytes, 90u);
  EXPECT_FALSE(counted.try_expand(p, 90, 101, 8));
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
  const allocation_counters expected = {.allocations = 0,
                                        .deallocations = 0,
                                        .failures = 0,
                                        .allocated_bytes = 0,
                                        .live_blocks = 1,
                                        .live_bytes = 10,
                                        .peak_blocks = 1,
                                        .peak_bytes = 10,
                                        .largest_request = 0};
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

TEST(statistics, forwards_what_its_upstream_can) {
  statistics<ashlar::page_resource> pages;
  void* const p = pages.allocate(100'000, 64);
  pages.prefault(p, 100'000);
  pages.deallocate(p, 100'000, 64);
  ashlar::inline_buffer<64> buffer;
  const statistics<resource_ref<ashlar::buffer_resource>> counted{resource_ref<ashlar::buffer_resource>(buffer)};
  EXPECT_TRUE(counted.owns(&buffer));
  EXPECT_EQ(&counted.upstream_resource().get(), &buffer);
}

}  // namespace

namespace ashlar_test {
using counted_resources = ::testing::Types<counted_operator_new, counted_upstream, counted_buffer>;
const bool tested = conforms("statistics", counted_resources{});
}  // namespace ashlar_test
