// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that regions come back in any parts and go back whole, that other blocks pass through, and all are counted.
#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/set_upstream.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/divisible_resource.hpp"

namespace {

using ashlar::resource_ref;
using ashlar::detail::largest_page;
using ashlar::detail::set_upstream;
using ashlar_test::counting_resource;
using ashlar_test::nothing;
using over_blocks = set_upstream<resource_ref<counting_resource<>>>;

static_assert(ashlar::detail::divisible_resource<over_blocks> && ashlar::try_resource<over_blocks>);
static_assert(!ashlar::thread_safe_resource<over_blocks>);
static_assert(ashlar::thread_safe_resource<set_upstream<ashlar::page_resource, ashlar::spin_lock>>);
static_assert(!ashlar::thread_safe_resource<set_upstream<ashlar::page_resource>>);

TEST(set_upstream, gives_a_region_back_when_its_last_part_is_back) {
  counting_resource<> upstream;
  over_blocks regions(upstream);
  std::mt19937 random(1);
  std::vector<std::byte*> parts;
  for (const std::size_t count : {std::size_t{1}, std::size_t{4}, std::size_t{2}}) {
    auto* const region = static_cast<std::byte*>(regions.allocate(count * largest_page, largest_page));
    EXPECT_TRUE(ashlar::detail::is_aligned(region, largest_page));
    for (std::size_t i = 0; i < count; ++i) parts.push_back(region + i * largest_page);
  }
  EXPECT_EQ(upstream.allocations(), 3u);
  std::shuffle(parts.begin(), parts.end(), random);
  while (!parts.empty()) {
    ASSERT_TRUE(regions.invariant());
    regions.deallocate(parts.back(), largest_page, largest_page);
    parts.pop_back();
  }
  EXPECT_EQ(upstream.balance(), nothing);
}

TEST(set_upstream, takes_several_parts_as_one) {
  counting_resource<> upstream;
  over_blocks regions(upstream);
  auto* const region = static_cast<std::byte*>(regions.try_allocate(4 * largest_page, largest_page));
  regions.deallocate(region + largest_page, 3 * largest_page, largest_page);
  EXPECT_TRUE(regions.invariant());
  EXPECT_EQ(upstream.deallocations(), 0u);
  regions.deallocate(region, largest_page, largest_page);
  EXPECT_EQ(upstream.balance(), nothing);
}

TEST(set_upstream, passes_other_blocks_through_and_refuses_as_the_upstream) {
  counting_resource<> upstream;
  over_blocks regions(upstream);
  void* const block = regions.allocate(1000, 8);
  EXPECT_EQ(upstream.balance().bytes, 1000u);
  regions.deallocate(block, 1000, 8);
  upstream.fail_from(0);
  EXPECT_EQ(regions.try_allocate(largest_page, largest_page), nullptr);
  EXPECT_EQ(regions.try_allocate(1, 1), nullptr);
  EXPECT_TRUE(regions.invariant());
}

TEST(set_upstream, counts_the_bytes_of_live_blocks) {
  counting_resource<> upstream;
  over_blocks held(upstream);
  void* const a = held.allocate(100, 8);
  void* const b = held.try_allocate(50, 8);
  EXPECT_EQ(held.held_bytes(), 150u);
  held.deallocate(a, 100, 8);
  EXPECT_EQ(held.held_bytes(), 50u);
  held.deallocate(b, 50, 8);
  EXPECT_EQ(held.held_bytes(), 0u);
}

TEST(set_upstream, counts_no_refused_request) {
  counting_resource<> upstream;
  over_blocks held(upstream);
  upstream.fail_at(0);
  EXPECT_EQ(held.try_allocate(50, 8), nullptr);
  EXPECT_EQ(held.held_bytes(), 0u);
}

TEST(set_upstream, counts_a_region_that_comes_back_in_parts) {
  constexpr std::size_t part = largest_page;
  set_upstream<ashlar::page_resource, ashlar::spin_lock> held;
  auto* const region = static_cast<std::byte*>(held.allocate(2 * part, part));
  const std::size_t whole = held.held_bytes();
  held.deallocate(region + part, part, part);
  EXPECT_EQ(held.held_bytes(), ashlar::os::pages::releases_parts ? part : whole) << "some systems take no part back";
  held.deallocate(region, part, part);
  EXPECT_EQ(held.held_bytes(), 0u);
}

// The note is counted as well, and the region until it goes back.
TEST(set_upstream, counts_a_region_with_its_note) {
  counting_resource<> upstream;
  over_blocks held(upstream);
  auto* const region = static_cast<std::byte*>(held.allocate(2 * largest_page, largest_page));
  const std::size_t whole = upstream.balance().bytes;
  EXPECT_GT(whole, 2 * largest_page);
  held.deallocate(region, largest_page, largest_page);
  EXPECT_EQ(held.held_bytes(), whole);
  held.deallocate(region + largest_page, largest_page, largest_page);
  EXPECT_EQ(held.held_bytes(), 0u);
}

// The upstream takes parts of a megabyte: regions of larger parts have no note, those of smaller ones go back whole.
TEST(set_upstream, hands_parts_on_that_the_upstream_takes) {
  constexpr std::size_t part = std::size_t{1} << 20;
  ashlar_test::resource_of_parts<part> upstream;
  set_upstream<resource_ref<ashlar_test::resource_of_parts<part>>> held(upstream);
  auto* const large = static_cast<std::byte*>(held.allocate(2 * part, part));
  held.deallocate(large + part, part, part);
  EXPECT_EQ(upstream.bytes_out(), part);
  auto* const small = static_cast<std::byte*>(held.allocate(2 * part, largest_page));
  held.deallocate(small + part, part, largest_page);
  EXPECT_GT(upstream.bytes_out(), 3 * part) << "the region and its note";
  held.deallocate(large, part, part);
  held.deallocate(small, part, largest_page);
  EXPECT_EQ(upstream.bytes_out(), 0u);
}

}  // namespace
