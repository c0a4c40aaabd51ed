// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the slabs of a pool: where they come from, which serve first, and which are retained.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/divisible_resource.hpp"

namespace {

using ashlar::detail::slab;
using ashlar::detail::slab_geometry;
using ashlar::detail::slab_set;

/// Slabs in memory of the test, and their taken cells.
class modelled_set {
public:
  static constexpr std::size_t slab_bytes = 16 * 1024;

  modelled_set(std::size_t slabs, std::size_t cell_bytes)
      : geometry_(
            {.cell_bytes = cell_bytes, .cell_alignment = 1, .slab_bytes = slab_bytes, .header_bytes = sizeof(slab)}),
        memory_(new std::byte[(slabs + 1) * slab_bytes]) {
    set_.use_lanes(other_lanes_);
    std::byte* start = ashlar::align_up(memory_.get(), slab_bytes);
    for (; slabs != 0; --slabs, start += slab_bytes) {
      std::byte* const header = geometry_.header_of(start);
      slab* const made = slab::format(header, this, geometry_.cells_of(header), geometry_.capacity(start));
      set_.add(made);
      taken_[made] = {};
    }
  }

  void fill() {
    while (set_.has_free()) take(64);
  }
  void take(std::size_t most, std::uint32_t lane = 0) { note(set_.take_batch(geometry_, most, lane)); }
  void take_run(std::size_t length) { note(set_.take_run(geometry_, length)); }

  void give(std::byte* cell) {
    std::erase(cells_, cell);
    taken_.at(slab_set::slab_around(geometry_, cell)).erase(cell);
    if (slab* const turned = set_.give(geometry_, cell)) static_cast<void>(set_.refile(turned));
    EXPECT_TRUE(set_.invariant());
  }

  // Returns: the slab of the last taken cell.
  [[nodiscard]] slab* latest() const { return slab_set::slab_around(geometry_, cells_.back()); }

  void note(const ashlar::detail::cell_batch& got) {
    ASSERT_NE(got.mask, 0u);
    for (std::uint64_t rest = got.mask; rest != 0; rest &= rest - 1) {
      cells_.push_back(got.base + static_cast<std::size_t>(std::countr_zero(rest)) * geometry_.cell_stride());
      EXPECT_TRUE(taken_.at(latest()).insert(cells_.back()).second) << "taken twice";
    }
  }

  slab_geometry geometry_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte*> cells_;
  std::map<slab*, std::set<std::byte*>> taken_;
  slab_set::other_lanes other_lanes_;
  slab_set set_;
};

TEST(slab_set, after_sorting_the_lowest_cells_leave_first) {
  modelled_set m(8, 1000);
  std::mt19937 random(1);
  m.fill();
  while (m.cells_.size() > 30) m.give(m.cells_[random() % m.cells_.size()]);
  m.set_.sort();
  slab* lowest = nullptr;
  for (const auto& [each, taken] : m.taken_)
    if (lowest == nullptr && !taken.empty() && taken.size() != each->capacity) lowest = each;
  m.take(1);
  EXPECT_EQ(m.latest(), lowest);
}

// Slabs with 40, 30, 20 and 10 of 50 or more cells live: batches come from the first until it is full, then the
// second.
TEST(slab_set, the_fullest_slabs_are_filled_first) {
  modelled_set m(4, 256);
  m.fill();
  std::vector<slab*> order;
  for (const auto& [each, taken] : m.taken_) order.push_back(each);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t live = 40 - 10 * i; m.taken_.at(order[i]).size() > live;) m.give(*m.taken_.at(order[i]).begin());
  for (slab* const expected : order)
    while (expected->free != 0) {
      m.take(7);
      ASSERT_EQ(m.latest(), expected);
    }
}

TEST(slab_set, among_equally_full_slabs_the_lowest_is_filled_first) {
  modelled_set m(8, 256);
  m.fill();
  std::mt19937 random(1);
  std::vector<std::byte*> leaving;
  for (const auto& [each, taken] : m.taken_) leaving.insert(leaving.end(), taken.begin(), std::next(taken.begin(), 20));
  std::ranges::shuffle(leaving, random);
  for (std::byte* const cell : leaving) m.give(cell);
  slab* last = nullptr;
  while (m.set_.has_free()) {
    m.take(64);
    EXPECT_FALSE(m.latest() < last);
    last = m.latest();
  }
}

TEST(slab_set, runs_come_from_the_emptiest_slabs_and_leave_the_fullest_to_words) {
  modelled_set m(2, 64);
  m.fill();
  slab* const low = m.taken_.begin()->first;
  slab* const high = m.taken_.rbegin()->first;
  for (int i = 0; i < 40; ++i) m.give(*m.taken_.at(low).begin());
  for (int i = 0; i < 200; ++i) m.give(*m.taken_.at(high).begin());
  m.take_run(32);
  EXPECT_EQ(m.latest(), high);
  m.take(1);
  EXPECT_EQ(m.latest(), low);
}

TEST(slab_set, lanes_fill_slabs_of_their_own) {
  modelled_set m(6, 100);
  std::map<slab*, std::uint32_t> lane_of;
  for (std::uint32_t i = 0; i < 6; ++i) {
    m.take(64, i % 3);
    ASSERT_EQ(lane_of.emplace(m.latest(), i % 3).first->second, i % 3);
  }
  EXPECT_EQ(lane_of.size(), 3u);
  const std::vector<std::byte*> all = m.cells_;
  for (std::byte* const cell : all)
    if (slab_set::index_in(m.geometry_, slab_set::slab_around(m.geometry_, cell), cell) % 2 == 0) m.give(cell);
  for (std::uint32_t i = 0; i < 6; ++i) {
    m.take(64, i % 3);
    EXPECT_EQ(lane_of.at(m.latest()), i % 3) << "what a lane freed it takes again";
  }
}

TEST(slab_set, a_lane_takes_over_what_others_have_left) {
  modelled_set m(3, 1000);
  for (std::uint32_t lane = 0; lane < 3; ++lane) m.take(3, lane);
  while (m.set_.has_free()) m.take(64, 7);
  for (const auto& [each, taken] : m.taken_) EXPECT_EQ(taken.size(), each->capacity);
}

using ashlar::block;
using ashlar::or_null;
using ashlar::resource_ref;
using ashlar_test::divisible_resource;
using source = ashlar::detail::slab_source<resource_ref<divisible_resource>>;

constexpr std::size_t slab = 64 * 1024;

static_assert(ashlar::divisible_resource<ashlar::page_resource> == ashlar::os::pages::releases_parts);
static_assert(ashlar::divisible_resource<ashlar::detail::deferring_upstream<ashlar::page_resource>> ==
              ashlar::os::pages::releases_parts);
static_assert(ashlar::divisible_resource<resource_ref<divisible_resource>>);
static_assert(!ashlar::divisible_resource<ashlar::new_delete_resource>);

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

}  // namespace
