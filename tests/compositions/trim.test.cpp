// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `trim(retain_bytes)` of every resource that keeps free memory: its result, and the memory that stays.
#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/base/resource.hpp>
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
  R resource;

  template <class... Args>
  explicit blocks_of(Args&&... args) : resource(std::forward<Args>(args)...) {}

  void use(std::size_t blocks) {
    std::vector<void*> taken;
    for (std::size_t i = 0; i < blocks; ++i) taken.push_back(resource.allocate(BlockBytes, 8));
    for (; !taken.empty(); taken.pop_back()) resource.deallocate(taken.back(), BlockBytes, 8);
  }
};

constexpr ashlar::block_pool_options cells{.cell_bytes = 64, .retain_slabs = ashlar::never_release};
constexpr ashlar::fixed_block_pool_options fixed_cells{.retain_slabs = ashlar::never_release};
constexpr ashlar::pool_set_options classes{.retain_slabs = ashlar::never_release};
constexpr ashlar::tlsf_resource_options regions{.growth = {.smallest = 4096, .largest = 16384},
                                                .retain_regions = ashlar::never_release};
constexpr ashlar::proportional_growth chunks{.smallest = 4096, .largest = 16384};
constexpr ashlar::heap_options pieces{};
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
};

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
};
struct ref_pools {
  ashlar::ref_pool<double, ashlar::one_thread, ashlar::count::by_padding, below> resource;
  explicit ref_pools(counting_resource<>& from) : resource(below(from)) {}

  void use(std::size_t count) {
    std::vector<decltype(resource.make(1.0))> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(resource.make(1.0));
  }
};

template <class Kind>
class trimmed : public ::testing::Test {};
using kinds =
    ::testing::Types<made<ashlar::block_pool<below>, cells>, made<ashlar::fixed_block_pool<64, 8, below>, fixed_cells>,
                     made<ashlar::shared_block_pool<shared_below>, cells>, made<ashlar::pool_set<below>, classes>,
                     made<ashlar::shared_pool_set<shared_below>, classes>, made<ashlar::tlsf_resource<below>, regions>,
                     made<ashlar::stack_resource<below>, chunks>, chains,
                     made<ashlar::local_heap<below>, pieces, 100'000>, made<ashlar::owner_heap<below>, pieces, 100'000>,
                     made<ashlar::heap<shared_below>, pieces, 100'000>, object_pools, ref_pools>;
TYPED_TEST_SUITE(trimmed, kinds);

// Heaps retain pages, and hold the whole segments of these pages, of which one slice of 64 is a head.
template <class Kind>
constexpr std::size_t unit_of = 0;
template <class R, const auto& Options>
constexpr std::size_t unit_of<made<R, Options, 100'000>> = std::size_t{4} << 20;

constexpr std::size_t used_at_once = 2000;

TYPED_TEST(trimmed, gives_free_memory_back) {
  counting_resource<> upstream;
  TypeParam user(upstream);
  user.use(used_at_once);
  const std::size_t before = upstream.balance().bytes;
  const std::size_t given = user.resource.trim();
  const std::size_t after = upstream.balance().bytes;
  EXPECT_LT(after, before);
  if (unit_of<TypeParam> == 0) EXPECT_EQ(given, before - after);
  EXPECT_GE(given, before - after);
  EXPECT_EQ(user.resource.trim(), 0u);
  EXPECT_EQ(upstream.balance().bytes, after);
  EXPECT_TRUE(user.resource.invariant());
}

TYPED_TEST(trimmed, retains_at_most_the_bytes_of_its_argument) {
  counting_resource<> upstream;
  TypeParam user(upstream);
  user.use(used_at_once);
  static_cast<void>(user.resource.trim(ashlar::max_size));
  const std::size_t most = upstream.balance().bytes;
  const std::size_t retained = most / 2;
  static_cast<void>(user.resource.trim(retained));
  const std::size_t between = upstream.balance().bytes;
  static_cast<void>(user.resource.trim());
  const std::size_t least = upstream.balance().bytes;
  EXPECT_LT(least, most) << "with no limit something stays";
  EXPECT_LE(between, least + retained + (unit_of<TypeParam> != 0 ? retained / 63 : 0) + unit_of<TypeParam>);
  user.use(10);
  EXPECT_TRUE(user.resource.invariant());
}

}  // namespace
