// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of where slabs come from, and which are retained.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/divisible_resource.hpp"

namespace {

using ashlar::block;
using ashlar::resource_ref;
using ashlar::detail::or_null;
using ashlar_test::counting_resource;
using ashlar_test::divisible_resource;
using source = ashlar::detail::slab_source<resource_ref<divisible_resource>>;

constexpr std::size_t slab = 64 * 1024;

static_assert(ashlar::detail::divisible_resource<ashlar::page_resource> == ashlar::os::pages::releases_parts);
static_assert(ashlar::detail::divisible_resource<ashlar::detail::deferring_upstream<ashlar::page_resource>> ==
              ashlar::os::pages::releases_parts);
static_assert(ashlar::detail::divisible_resource<resource_ref<divisible_resource>>);
static_assert(!ashlar::detail::divisible_resource<ashlar::new_delete_resource>);

TEST(slab_source, asks_for_an_eighth_of_what_the_pool_holds) {
  EXPECT_EQ(source::region(slab, 0), 1u);
  EXPECT_EQ(source::region(slab, 15), 1u);
  EXPECT_EQ(source::region(slab, 16), 2u);
  EXPECT_EQ(source::region(slab, 80), 10u);
  EXPECT_EQ(source::region(slab, 1'000'000), source::region_bytes / slab);
  EXPECT_EQ(source::region(2 * source::region_bytes, 1000), 1u);
}

TEST(slab_source, keeps_one_region_at_a_time) {
  divisible_resource upstream;
  source r{upstream};
  void* const a = r.keep(r.request(slab, 32), slab);
  void* const b = r.keep(r.request(slab, 32), slab);
  EXPECT_EQ(upstream.bytes_out(), 5 * slab);
  r.give_back_raw(slab);
  EXPECT_EQ(upstream.bytes_out(), 2 * slab);
  for (void* const each : {a, b}) r.upstream().deallocate(each, slab, slab);
}

TEST(slab_source, asks_for_one_slab_where_a_region_is_refused) {
  divisible_resource upstream;
  upstream.refuse_above(slab);
  source r{upstream};
  const block region = r.request(slab, 1000);
  EXPECT_EQ(region.size, slab);
  void* const only = r.keep(region, slab);
  upstream.refuse_above(slab - 1);
  EXPECT_FALSE(r.request<or_null>(slab, 1000));
  r.upstream().deallocate(only, slab, slab);
}

TEST(slab_source, lets_a_pool_grow_and_shrink_in_regions) {
  divisible_resource upstream;
  {
    ashlar::block_pool<resource_ref<divisible_resource>> pool({.cell_bytes = 64, .slab_bytes = slab}, upstream);
    std::vector<void*> cells;
    while (pool.slabs() < 400) cells.push_back(pool.allocate());
    EXPECT_LT(upstream.requests().size(), 60u);
    EXPECT_TRUE(pool.invariant());
    for (void* const cell : cells) pool.deallocate(cell);
    pool.trim();
    EXPECT_EQ(upstream.bytes_out(), 0u);
    static_cast<void>(pool.allocate());
    pool.release();
  }
  EXPECT_EQ(upstream.bytes_out(), 0u);
}

TEST(slab_source, lets_neighbours_go_back_as_one_block) {
  divisible_resource upstream;
  ashlar::detail::deferring_upstream<resource_ref<divisible_resource>> r{resource_ref(upstream)};
  auto* const region = static_cast<std::byte*>(r.allocate(6 * slab, slab));
  for (const std::size_t i : {2u, 3u, 1u, 5u, 0u, 4u}) r.deallocate(region + i * slab, slab, slab);
  r.hand_on(r.take_returned());  // 4, 0, 5, 1, 3 2
  EXPECT_EQ(upstream.bytes_out(), 0u);
  EXPECT_LT(upstream.returns(), 6u);
}

using ashlar::retain_policy;
using ashlar::detail::slab_geometry;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;
using store_type = ashlar::detail::slab_store<upstream_ref>;

constexpr std::size_t slab_bytes = 4096;
constexpr slab_geometry geometry = ashlar::detail::make_slab_geometry({.cell_bytes = 64, .slab_bytes = slab_bytes});

/// A store of full slabs, and the batches taken from them.
struct full_store {
  full_store(retain_policy policy, std::size_t slabs) : store(policy, upstream) {
    for (std::size_t i = 0; i < slabs; ++i) store.add(geometry, this, store.request(geometry));
    while (store.slabs().has_free()) words.push_back(store.take_batch(geometry, 64));
  }
  ~full_store() { store.release(geometry); }

  void give_batch() {
    store.give(geometry, words.back());
    words.pop_back();
  }

  void give_all() {
    while (!words.empty()) give_batch();
  }

  [[nodiscard]] std::size_t held() const { return upstream.balance().bytes / slab_bytes; }

  counting_resource<> upstream;
  store_type store;
  std::vector<ashlar::detail::cell_batch> words;
};

TEST(slab_store, reserved_slabs_stay_under_every_policy) {
  full_store full(ashlar::release_now, 4);
  const std::size_t capacity = full.store.slabs().capacity();
  full.store.keep_for(capacity / 2);
  full.give_all();
  EXPECT_EQ(full.held(), 2u);
  full.store.unreserve();
  full.store.shrink(geometry);
  EXPECT_EQ(full.held(), 0u);
}

// Grows to `slabs` and gives all back.
void swing(full_store& full, std::size_t slabs) {
  while (full.store.slabs().slabs() < slabs) full.store.add(geometry, &full, full.store.request(geometry));
  while (full.store.slabs().has_free()) full.words.push_back(full.store.take_batch(geometry, 64));
  full.give_all();
}

TEST(slab_store, keeps_what_it_gave_back_too_early_from_then_on) {
  for (const std::size_t slabs : {2u, 9u, 100u}) {
    full_store full(1, slabs);
    full.give_all();
    EXPECT_EQ(full.held(), 1u) << "a program that goes down for good";
    swing(full, slabs);
    EXPECT_EQ(full.held(), slabs) << "one that goes up again does not pay a second time";
    const std::size_t asked = full.upstream.allocations();
    for (int round = 0; round < 3; ++round) swing(full, slabs);
    EXPECT_EQ(full.upstream.allocations(), asked);
    full.store.shrink(geometry);
    EXPECT_EQ(full.held(), 0u);
    swing(full, slabs);
    EXPECT_EQ(full.held(), 1u) << "what was learned is forgotten";
  }
}

TEST(slab_store, learns_to_keep_a_mebibyte_at_most) {
  constexpr std::size_t most = (1 << 20) / slab_bytes;
  full_store full(1, 2 * most);
  for (int round = 0; round < 3; ++round) swing(full, 2 * most);
  EXPECT_EQ(full.held(), 1 + most);
}

TEST(slab_store, release_now_learns_nothing) {
  full_store full(ashlar::release_now, 9);
  for (int round = 0; round < 3; ++round) swing(full, 9);
  EXPECT_EQ(full.held(), 0u);
}

}  // namespace
