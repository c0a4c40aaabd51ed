// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that memory for slabs comes in regions if possible, and that all of it goes back.
#include <ashlar/detail/slab/slab_source.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/block.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/deferring_upstream.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/retain_policy.hpp>

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

TEST(slab_source, cuts_a_region_from_its_low_end) {
  divisible_resource upstream;
  source r{upstream};
  EXPECT_EQ(r.take_raw(slab), nullptr);
  const block region = r.request(slab, 32);
  ASSERT_EQ(region.size, 4 * slab);
  auto* const first = static_cast<std::byte*>(r.keep(region, slab));
  EXPECT_EQ(first, region.data);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(r.take_raw(slab), first + i * slab);
  EXPECT_EQ(r.take_raw(slab), nullptr);
  for (const std::size_t i : {2u, 0u, 3u, 1u}) r.upstream().deallocate(first + i * slab, slab, slab);
}

TEST(slab_source, gives_back_what_it_did_not_hand_out) {
  divisible_resource upstream;
  source r{upstream};
  void* const one = r.keep(r.request(slab, 64), slab);
  r.give_back_raw(slab);
  EXPECT_EQ(upstream.bytes_out(), slab);
  EXPECT_EQ(r.take_raw(slab), nullptr);
  r.give_back_raw(slab);
  r.upstream().deallocate(one, slab, slab);
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

TEST(slab_source, asks_an_upstream_that_is_not_divisible_for_single_slabs) {
  counting_resource<> upstream;
  ashlar::detail::slab_source<resource_ref<counting_resource<>>> r{upstream};
  EXPECT_EQ(r.region(slab, 1000), 1u);
  const block region = r.request(slab, 1000);
  EXPECT_EQ(region.size, slab);
  EXPECT_EQ(r.keep(region, slab), region.data);
  EXPECT_EQ(r.take_raw(slab), nullptr);
  r.upstream().deallocate(region.data, slab, slab);
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

// A part of a page would take its neighbours along when it goes back.
TEST(slab_source, slabs_smaller_than_a_page_come_one_by_one) {
  ashlar::block_pool<> pool({.cell_bytes = 64, .slab_bytes = 1024, .retain_slabs = ashlar::release_now});
  std::vector<unsigned char*> cells;
  while (pool.slabs() < 200) {
    cells.push_back(static_cast<unsigned char*>(pool.allocate()));
    *cells.back() = 7;
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    if ((ashlar::detail::address_of(cells[i]) / 1024) % 2 == 0) pool.deallocate(std::exchange(cells[i], nullptr));
  for (unsigned char* const cell : cells)
    if (cell != nullptr) ASSERT_EQ(*cell, 7);
  pool.release();
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

}  // namespace
