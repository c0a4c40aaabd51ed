// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `held_bytes()` of every resource is what its upstream has handed out, also after `trim(retain_bytes)`, which gives
// free memory back.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/counted_pool.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_offsets.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/pool_traits.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using ashlar_test::counting_resource;
using below = ashlar::resource_ref<counting_resource<>>;
using shared_below = ashlar_test::serialised_ref<>;

// Blocks of a resource; the last one is freed first.
template <class R, std::size_t BlockBytes = 64>
struct blocks_of {
  static constexpr bool has_cells = requires(const R& r) { r.cell_bytes(); };
  R resource;

  template <class... Args>
  explicit blocks_of(Args&&... args) : resource(std::forward<Args>(args)...) {}

  void use(std::size_t blocks) {
    std::vector<void*> taken;
    for (std::size_t i = 0; i < blocks; ++i) taken.push_back(resource.allocate(BlockBytes, 8));
    for (; !taken.empty(); taken.pop_back()) resource.deallocate(taken.back(), BlockBytes, 8);
  }

  /// Effects: calls `check(bytes)` after each step, with the bytes of live blocks of many sizes up to `most`. Pools of
  /// cells do not hold the larger blocks of their upstream.
  template <class Check>
  void walk(Check check, std::size_t most = has_cells ? BlockBytes : 300'000) {
    std::size_t live = 0;
    std::vector<std::size_t> sizes;
    std::vector<void*> taken;
    for (std::size_t i = 0; i < 200; ++i) {
      sizes.push_back(std::min(most, std::array<std::size_t, 5>{24, 200, 4'000, 50'000, 300'000}[i % 5]));
      taken.push_back(resource.allocate(sizes.back(), 8));
      check(live += sizes.back());
    }
    for (; !taken.empty(); taken.pop_back(), sizes.pop_back()) {
      resource.deallocate(taken.back(), sizes.back(), 8);
      check(live -= sizes.back());
    }
  }
};

constexpr ashlar::block_pool_options cells{.cell_bytes = 64, .retain_slabs = ashlar::never_release};
constexpr ashlar::fixed_block_pool_options fixed_cells{.retain_slabs = ashlar::never_release};
constexpr ashlar::pool_set_options classes{.retain_slabs = ashlar::never_release};
constexpr ashlar::tlsf_resource_options regions{.growth = {.smallest = 4096, .largest = 16384},
                                                .retain_regions = ashlar::never_release};
constexpr ashlar::stack_resource_options chunks{.initial_bytes = 4096, .max_growth_bytes = 16384};
constexpr ashlar::heap_options pieces{.retain_bytes = std::size_t{1} << 29};  // a peak above it goes back at once
constexpr ashlar::object_pool_options objects{.growth_count = 100};

template <class R, const auto& Options, std::size_t BlockBytes = 64>
struct made : blocks_of<R, BlockBytes> {
  explicit made(counting_resource<>& from) : made::blocks_of(Options, from) {}
};
using buffers = ashlar::chain<ashlar::buffer_resource, below>;
struct chains : blocks_of<buffers> {
  explicit chains(counting_resource<>& from)
      : chains::blocks_of(
            ashlar::chain_options{.retain_count = ashlar::max_size, .room_bytes = 4096, .renew_empty = true},
            ashlar::constructed<ashlar::buffer_resource>(), below(from)) {}

  template <class Check>
  void walk(Check check) {
    chains::blocks_of::walk(check, 4'000);
  }
};

/// Effects: as `walk` of blocks.
template <class Pool, class Check>
void reserve_step_by_step(Pool& pool, Check check) {
  for (const std::size_t count : {1u, 10'000u, 2'000'000u}) {
    pool.reserve(count);
    check(count * sizeof(double));
  }
}

using object_pool =
    ashlar::object_pool<double, ashlar_test::object_traits<ashlar::growing, ashlar::construct_on_acquire,
                                                           ashlar::throw_when_exhausted, ashlar::one_thread, below>>;
struct object_pools {
  object_pool resource;
  explicit object_pools(counting_resource<>& from) : resource(objects, below(from)) {}

  void use(std::size_t count) {
    std::vector<double*> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(resource.acquire(1.0));
    for (double* const each : taken) resource.release(each);
  }

  template <class Check>
  void walk(Check check) {
    reserve_step_by_step(resource, check);
  }
};
struct ref_pools {
  ashlar::ref_pool<double, ashlar::one_thread, ashlar::count::by_padding, below> resource;
  explicit ref_pools(counting_resource<>& from) : resource(below(from)) {}

  void use(std::size_t count) {
    std::vector<decltype(resource.make(1.0))> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(resource.make(1.0));
  }

  template <class Check>
  void walk(Check check) {
    reserve_step_by_step(resource, check);
  }
};

// Heaps retain pages, and hold the whole segments of these pages, of which one slice of 64 is a head.
template <class Kind>
constexpr std::size_t unit_of = 0;
template <class R, const auto& Options>
constexpr std::size_t unit_of<made<R, Options, 100'000>> = std::size_t{4} << 20;

template <class Kind>
class held_memory : public ::testing::Test {
protected:
  // Heaps have tables beside the bytes that they hold.
  void expect_held() {
    const std::size_t held = user.resource.held_bytes(), given = upstream.balance().bytes;
    EXPECT_LE(held, given);
    EXPECT_LE(given - held, unit_of<Kind> / 64);
  }

  counting_resource<> upstream;
  Kind user{upstream};
};
using kinds =
    ::testing::Types<made<ashlar::block_pool<below>, cells>, made<ashlar::fixed_block_pool<64, 8, below>, fixed_cells>,
                     made<ashlar::shared_block_pool<shared_below>, cells>, made<ashlar::pool_set<below>, classes>,
                     made<ashlar::shared_pool_set<shared_below>, classes>, made<ashlar::tlsf_resource<below>, regions>,
                     made<ashlar::stack_resource<below>, chunks>, chains,
                     made<ashlar::local_heap<below>, pieces, 100'000>, made<ashlar::owner_heap<below>, pieces, 100'000>,
                     made<ashlar::heap<shared_below>, pieces, 100'000>, object_pools, ref_pools>;
TYPED_TEST_SUITE(held_memory, kinds);

TYPED_TEST(held_memory, is_what_the_upstream_has_handed_out) {
  auto& resource = this->user.resource;
  this->expect_held();
  this->user.walk([&](std::size_t live_bytes) {
    this->expect_held();
    EXPECT_GE(resource.held_bytes(), live_bytes);
  });
  static_cast<void>(resource.trim());
  this->expect_held();
  if (unit_of<TypeParam> == 0) EXPECT_LT(resource.held_bytes(), 100'000u) << "tables alone, of all that was live";
  if constexpr (requires { resource.release(); }) {
    resource.release();
    this->expect_held();
    EXPECT_EQ(resource.held_bytes(), 0u);
  }
}

constexpr std::size_t used_at_once = 2000;

TYPED_TEST(held_memory, goes_back_where_it_is_free) {
  this->user.use(used_at_once);
  this->expect_held();
  const std::size_t before = this->upstream.balance().bytes;
  const std::size_t given = this->user.resource.trim();
  const std::size_t after = this->upstream.balance().bytes;
  EXPECT_LT(after, before);
  if (unit_of<TypeParam> == 0) EXPECT_EQ(given, before - after);
  EXPECT_GE(given, before - after);
  this->expect_held();
  EXPECT_EQ(this->user.resource.trim(), 0u);
  EXPECT_EQ(this->upstream.balance().bytes, after);
  EXPECT_TRUE(this->user.resource.invariant());
}

TYPED_TEST(held_memory, stays_up_to_the_bytes_to_retain) {
  const auto left_by_trim = [this](std::size_t retain_bytes) {
    static_cast<void>(this->user.resource.trim(retain_bytes));
    this->expect_held();
    return this->upstream.balance().bytes;
  };
  this->user.use(used_at_once);
  const std::size_t most = left_by_trim(ashlar::max_size);
  const std::size_t retained = most / 2;
  const std::size_t between = left_by_trim(retained);
  const std::size_t least = left_by_trim(0);
  EXPECT_LT(least, most) << "with no limit something stays";
  EXPECT_LE(between, least + retained + (unit_of<TypeParam> != 0 ? retained / 63 : 0) + unit_of<TypeParam>);
  this->user.use(10);
  EXPECT_TRUE(this->user.resource.invariant());
}

TEST(held_bytes, leave_a_buffer_of_the_caller_out) {
  alignas(16) std::array<std::byte, 4096> buffer;
  counting_resource<> upstream;
  ashlar::stack_resource<below> stack(std::span<std::byte>(buffer).first(2048), {}, upstream);
  ashlar::tlsf_resource<below> tlsf(std::span<std::byte>(buffer).subspan(2048), {}, upstream);
  tlsf.deallocate(tlsf.allocate(100, 8), 100, 8);
  stack.deallocate(stack.allocate(100, 8), 100, 8);
  EXPECT_EQ(stack.held_bytes() + tlsf.held_bytes(), 0u);
  EXPECT_EQ(upstream.balance().bytes, 0u);
}

TEST(held_bytes, of_tlsf_offsets_are_those_of_its_records) {
  counting_resource<> upstream;
  ashlar::tlsf_offsets<std::uint32_t, below> offsets(1u << 20, {}, upstream);
  EXPECT_EQ(offsets.held_bytes(), upstream.balance().bytes);
  offsets.reserve(1000);
  EXPECT_EQ(offsets.held_bytes(), upstream.balance().bytes);
  EXPECT_GT(offsets.held_bytes(), 0u);
}

using bounded_pool =
    ashlar::object_pool<double, ashlar_test::object_traits<ashlar::dynamic_capacity, ashlar::construct_on_acquire,
                                                           ashlar::throw_when_exhausted, ashlar::one_thread, below>>;

TEST(held_bytes, of_a_growing_object_pool_that_is_refused_memory) {
  counting_resource<> upstream;
  object_pool pool(ashlar::object_pool_options{}, below(upstream));
  for (std::size_t k = 0; k < 3; ++k) {
    upstream.fail_at(k);
    EXPECT_EQ(pool.try_acquire(), nullptr);
    EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
    if (pool.held_bytes() != 0) break;
  }
}

TEST(held_bytes, of_a_bounded_object_pool) {
  counting_resource<> upstream;
  bounded_pool pool(100, below(upstream));
  EXPECT_EQ(pool.held_bytes(), 0u);
  pool.reserve();
  EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
  EXPECT_GE(pool.held_bytes(), 100 * sizeof(double));
}

struct intrusive_over_counts : ashlar::intrusive_pool_traits {
  using threads = ashlar::any_thread<>;
  using upstream = below;
};

TEST(held_bytes, of_an_intrusive_pool) {
  counting_resource<> upstream;
  ashlar::intrusive_pool<int, intrusive_over_counts> pool({.growth_count = 10}, below(upstream));
  const auto first = pool.make(1);
  EXPECT_EQ(pool.held_bytes(), upstream.balance().bytes);
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
