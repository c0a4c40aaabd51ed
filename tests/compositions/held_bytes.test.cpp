// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that `held_bytes()` of each resource is the number of bytes that its upstream has handed out.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/counted_pool.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_pools.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_offsets.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar_test::counting_resource;
using below = ashlar::resource_ref<counting_resource<>>;
using below_threads = ashlar::synchronized<below>;

// Compares after each step of growth, of a trim and of the end of all blocks, taken back in the reverse order.
template <class Resource>
void hold_as_upstream(Resource& held, const counting_resource<>& upstream) {
  const auto expect_equal = [&] { EXPECT_EQ(held.held_bytes(), upstream.balance().bytes); };
  constexpr std::array<std::size_t, 5> sizes = {24, 200, 4'000, 50'000, 300'000};
  std::vector<void*> blocks;
  expect_equal();
  for (std::size_t i = 0; i < 200; ++i) {
    blocks.push_back(held.allocate(sizes[i % sizes.size()], 8));
    expect_equal();
  }
  EXPECT_GE(held.held_bytes(), 40 * std::size_t{300'000});
  for (std::size_t i = blocks.size(); i-- != 0;) {
    held.deallocate(blocks[i], sizes[i % sizes.size()], 8);
    expect_equal();
  }
  if constexpr (requires { held.trim(); }) static_cast<void>(held.trim());
  expect_equal();
  held.release();
  expect_equal();
}

TEST(held_bytes, of_a_pool_set) {
  counting_resource<> upstream;
  ashlar::pool_set<below> pools({}, upstream);
  hold_as_upstream(pools, upstream);
  EXPECT_EQ(pools.held_bytes(), 0u);
}

TEST(held_bytes, of_a_shared_pool_set) {
  counting_resource<> upstream;
  ashlar::shared_pool_set<below_threads> pools({}, below(upstream));
  hold_as_upstream(pools, upstream);
  EXPECT_EQ(pools.held_bytes(), 0u);
}

TEST(held_bytes, of_a_pool_set_is_that_of_its_slabs_and_pools_over_pages) {
  ashlar::pool_set<> pools;
  void* const cell = pools.allocate(24, 8);
  std::size_t bytes = 0;
  pools.for_each_pool([&](const auto& pool) { bytes += pool.held_bytes() + sizeof(pool); });
  EXPECT_EQ(pools.held_bytes(), bytes);
  pools.deallocate(cell, 24, 8);
}

TEST(held_bytes, of_a_stack_resource) {
  counting_resource<> upstream;
  ashlar::stack_resource<below> stack(upstream);
  hold_as_upstream(stack, upstream);
  EXPECT_EQ(stack.held_bytes(), 0u);
}

TEST(held_bytes, leave_a_buffer_of_the_caller_out) {
  alignas(16) std::array<std::byte, 4096> buffer;
  counting_resource<> upstream;
  ashlar::stack_resource<below> stack(std::span<std::byte>(buffer).first(2048), upstream);
  ashlar::tlsf_resource<below> tlsf(std::span<std::byte>(buffer).subspan(2048), upstream);
  tlsf.deallocate(tlsf.allocate(100, 8), 100, 8);
  stack.deallocate(stack.allocate(100, 8), 100, 8);
  EXPECT_EQ(stack.held_bytes() + tlsf.held_bytes(), 0u);
  EXPECT_EQ(upstream.balance().bytes, 0u);
}

TEST(held_bytes, of_a_tlsf_resource) {
  counting_resource<> upstream;
  ashlar::tlsf_resource<below> tlsf(ashlar::tlsf_resource_options{}, upstream);
  hold_as_upstream(tlsf, upstream);
  EXPECT_EQ(tlsf.held_bytes(), 0u);
}

TEST(held_bytes, of_tlsf_offsets_are_those_of_its_records) {
  counting_resource<> upstream;
  ashlar::tlsf_offsets<std::uint32_t, below> offsets(1u << 20, {}, upstream);
  EXPECT_EQ(offsets.held_bytes(), upstream.balance().bytes);
  offsets.reserve(1000);
  EXPECT_EQ(offsets.held_bytes(), upstream.balance().bytes);
  EXPECT_GT(offsets.held_bytes(), 0u);
}

TEST(held_bytes, of_a_chain) {
  counting_resource<> upstream;
  ashlar::chain<ashlar::buffer_resource, below> buffers({.room_bytes = 1000}, {}, upstream);
  void* const blocks[] = {buffers.allocate(900, 8), buffers.allocate(900, 8)};
  EXPECT_EQ(buffers.held_bytes(), upstream.balance().bytes);
  EXPECT_GE(buffers.held_bytes(), 2000u);
  for (void* const each : blocks) buffers.deallocate(each, 900, 8);
  static_cast<void>(buffers.trim());
  EXPECT_EQ(buffers.held_bytes(), 0u);
}

struct growing_over_counts : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = ashlar::growing;
  using upstream = below;
};
struct bounded_over_counts : ashlar::object_pool_traits {
  using upstream = below;
};
struct intrusive_over_counts : ashlar::intrusive_pool_traits {
  using threads = ashlar::any_thread<>;
  using upstream = below;
};

TEST(held_bytes, of_a_growing_object_pool) {
  counting_resource<> upstream;
  ashlar::object_pool<std::uint64_t, growing_over_counts> pool(ashlar::object_pool_options{}, below(upstream));
  for (const std::size_t objects : {1u, 10'000u, 2'000'000u}) {
    pool.reserve(objects);
    EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
  }
  EXPECT_GE(pool.held_bytes(), 16'000'000u);
  static_cast<void>(pool.trim());
  EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
  EXPECT_LT(pool.held_bytes(), 100'000u);
}

TEST(held_bytes, of_a_growing_object_pool_that_is_refused_memory) {
  counting_resource<> upstream;
  ashlar::object_pool<std::uint64_t, growing_over_counts> pool(ashlar::object_pool_options{}, below(upstream));
  for (std::size_t k = 0; k < 3; ++k) {
    upstream.fail_at(k);
    EXPECT_EQ(pool.try_acquire(), nullptr);
    EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
    if (pool.held_bytes() != 0) break;
  }
}

TEST(held_bytes, of_a_bounded_object_pool) {
  counting_resource<> upstream;
  ashlar::object_pool<std::uint64_t, bounded_over_counts> pool(100, below(upstream));
  EXPECT_EQ(pool.held_bytes(), 0u);
  pool.reserve();
  EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
  EXPECT_GE(pool.held_bytes(), 100 * sizeof(std::uint64_t));
}

TEST(held_bytes, of_pools_of_counted_objects) {
  counting_resource<> upstream;
  ashlar::ref_pool<int, ashlar::one_thread, ashlar::count::by_padding, below> references{below(upstream)};
  references.reserve(100'000);
  EXPECT_EQ(references.held_bytes(), upstream.balance().bytes);
  EXPECT_GT(references.held_bytes(), 0u);
  counting_resource<> other;
  ashlar::intrusive_pool<int, intrusive_over_counts> pool({.growth_count = 10}, below(other));
  const auto first = pool.make(1);
  EXPECT_EQ(pool.held_bytes(), other.balance().bytes);
  EXPECT_GT(pool.held_bytes(), 0u);
}

template <class Lock>
void hold_counters() {
  counting_resource<> upstream;
  ashlar::counted_pool<Lock, ashlar::detail::atomic_counter, below> counts({.retain_slabs = 0}, upstream);
  EXPECT_EQ(counts.held_bytes(), 0u);
  auto* const owners = counts.make();
  EXPECT_EQ(counts.held_bytes(), upstream.balance().bytes);
  EXPECT_EQ(&counts.upstream_resource().get(), &upstream);
  EXPECT_TRUE(counts.drop(owners));
  static_cast<void>(counts.trim());
  EXPECT_EQ(counts.held_bytes(), 0u);
}

TEST(held_bytes, of_a_counted_pool) {
  hold_counters<ashlar::one_thread>();
  hold_counters<ashlar::spin_lock>();
}

}  // namespace
