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
#include <utility>
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

#include "tests/support/counting_resource.hpp"
#include "tests/support/divisible_resource.hpp"

namespace {

using ashlar::detail::slab;
using ashlar::detail::slab_geometry;
using ashlar::detail::slab_set;

/// Slabs in memory of the test, up to a limit, and a model of their taken cells.
class modelled_set {
public:
  static constexpr std::size_t slab_bytes = 16 * 1024;

  modelled_set(std::size_t most_slabs, std::size_t cell_bytes)
      : geometry_(
            {.cell_bytes = cell_bytes, .cell_alignment = 1, .slab_bytes = slab_bytes, .header_bytes = sizeof(slab)}),
        memory_(new std::byte[(most_slabs + 1) * slab_bytes]) {
    set_.use_lanes(other_lanes_);
    std::byte* const first = ashlar::align_up(memory_.get(), slab_bytes);
    for (std::size_t i = 0; i < most_slabs; ++i) unused_.push_back(first + i * slab_bytes);
  }

  void add() {
    std::byte* const start = unused_.back();
    unused_.pop_back();
    std::byte* const header = geometry_.header_of(start);
    slab* const made = slab::format(header, this, geometry_.cells_of(header), geometry_.capacity(start));
    set_.add(made);
    taken_[made] = {};
  }

  void add_full(std::size_t slabs) {
    for (; slabs != 0; --slabs) add();
    while (set_.has_free()) take(64);
  }

  void remove() {
    slab* const leaving = set_.empty_slab();
    EXPECT_TRUE(taken_.at(leaving).empty());
    set_.remove(leaving);
    taken_.erase(leaving);
    unused_.push_back(geometry_.slab_of(leaving));
  }

  void take(std::size_t most, std::uint32_t lane = 0) {
    const bool partial = has_partial_of(lane);
    const ashlar::detail::cell_batch got = set_.take_batch(geometry_, most, lane);
    EXPECT_NE(got.mask, 0u);
    EXPECT_LE(static_cast<std::size_t>(std::popcount(got.mask)), most);
    note(got, partial);
  }

  /// Returns: whether there was a run. An empty slab always has one.
  bool take_run(std::size_t length) {
    const bool must = set_.empty_slabs() != 0;
    const ashlar::detail::cell_batch got = set_.take_run(geometry_, length);
    EXPECT_TRUE(got.mask != 0 || !must);
    if (got.mask == 0) return false;
    EXPECT_EQ(got.mask >> std::countr_zero(got.mask), ashlar::detail::ones(0, length));
    note(got, false);
    return true;
  }

  void note(const ashlar::detail::cell_batch& got, bool partial) {
    for (std::uint64_t rest = got.mask; rest != 0; rest &= rest - 1) {
      std::byte* const cell = got.base + static_cast<std::size_t>(std::countr_zero(rest)) * geometry_.cell_stride();
      slab* const home = slab_set::slab_around(geometry_, cell);
      EXPECT_FALSE(partial && taken_.at(home).empty()) << "an empty slab was broken too early";
      cells_.push_back(cell);
    }
    for (std::size_t i = cells_.size() - static_cast<std::size_t>(std::popcount(got.mask)); i < cells_.size(); ++i)
      EXPECT_TRUE(taken_.at(slab_set::slab_around(geometry_, cells_[i])).insert(cells_[i]).second) << "taken twice";
  }

  void give_cell(std::byte* cell) { give(static_cast<std::size_t>(std::ranges::find(cells_, cell) - cells_.begin())); }

  void give(std::size_t index) {
    std::swap(cells_[index], cells_.back());
    std::byte* const cell = cells_.back();
    cells_.pop_back();
    slab* const home = slab_set::slab_around(geometry_, cell);
    taken_.at(home).erase(cell);
    ashlar::detail::slab* const turned = set_.give(geometry_, cell);
    const bool is_empty = turned != nullptr && set_.refile(turned);
    EXPECT_EQ(is_empty, taken_.at(home).empty());
  }

  void expect_same() const {
    ASSERT_TRUE(set_.invariant());
    std::size_t capacity = 0;
    std::size_t empty = 0;
    for (const auto& [each, taken] : taken_) {
      capacity += each->capacity;
      empty += taken.empty() ? 1u : 0u;
    }
    ASSERT_EQ(set_.slabs(), taken_.size());
    ASSERT_EQ(set_.capacity(), capacity);
    ASSERT_EQ(set_.taken(), cells_.size());
    ASSERT_EQ(set_.empty_slabs(), empty);
    ASSERT_EQ(set_.has_free(), capacity != cells_.size());
  }

  [[nodiscard]] bool has_partial_of(std::uint32_t lane) const {
    return std::ranges::any_of(taken_, [lane](const auto& each) {
      return each.first->lane == lane && !each.second.empty() && each.second.size() != each.first->capacity;
    });
  }

  // Returns: the slab of the last taken cell.
  [[nodiscard]] slab* latest() const { return slab_set::slab_around(geometry_, cells_.back()); }

  slab_geometry geometry_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte*> unused_;
  std::vector<std::byte*> cells_;
  std::map<slab*, std::set<std::byte*>> taken_;
  slab_set::other_lanes other_lanes_;
  slab_set set_;
};

void walk(modelled_set& m, std::mt19937& random, std::uint32_t lanes) {
  const std::size_t choice = random() % 100;
  if (choice < 25 && m.set_.has_free()) m.take(1 + random() % 100, static_cast<std::uint32_t>(random() % lanes));
  else if (choice < 30) m.take_run(1 + random() % std::min(m.geometry_.least_capacity(), 64u));
  else if (choice < 35 && !m.unused_.empty()) m.add();
  else if (choice < 40 && m.set_.empty_slabs() != 0) m.remove();
  else if (choice < 42) m.set_.sort();
  else
    for (std::size_t n = random() % 20; n != 0 && !m.cells_.empty(); --n) m.give(random() % m.cells_.size());
}

TEST(slab_set, counts_and_lists_follow_every_step) {
  for (const std::size_t cell_bytes : {1000u, 100u, 24u, 8192u})
    for (unsigned seed = 1; seed <= 6; ++seed) {
      std::mt19937 random(seed);
      modelled_set m(12, cell_bytes);
      for (int step = 0; step < 500; ++step) {
        walk(m, random, seed % 2 == 0 ? 1 : 4);
        ASSERT_NO_FATAL_FAILURE(m.expect_same()) << "step " << step << ", seed " << seed;
      }
    }
}

TEST(slab_set, after_sorting_the_lowest_cells_leave_first) {
  modelled_set m(8, 1000);
  std::mt19937 random(1);
  m.add_full(8);
  while (m.cells_.size() > 30) m.give(random() % m.cells_.size());
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
  m.add_full(4);
  std::vector<slab*> order;
  for (const auto& [each, taken] : m.taken_) order.push_back(each);
  const std::vector<std::byte*> all = m.cells_;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t live = 40 - 10 * i; m.taken_.at(order[i]).size() > live;)
      m.give_cell(*m.taken_.at(order[i]).begin());
  ASSERT_NO_FATAL_FAILURE(m.expect_same());
  for (slab* const expected : order)
    while (expected->free != 0) {
      m.take(7);
      ASSERT_EQ(m.latest(), expected);
    }
}

TEST(slab_set, among_equally_full_slabs_the_lowest_is_filled_first) {
  modelled_set m(8, 256);
  m.add_full(8);
  std::mt19937 random(1);
  std::vector<std::byte*> leaving;
  for (const auto& [each, taken] : m.taken_) leaving.insert(leaving.end(), taken.begin(), std::next(taken.begin(), 20));
  std::ranges::shuffle(leaving, random);
  for (std::byte* const cell : leaving) m.give_cell(cell);
  slab* last = nullptr;
  while (m.set_.has_free()) {
    m.take(64);
    EXPECT_FALSE(m.latest() < last);
    last = m.latest();
  }
}

TEST(slab_set, runs_come_from_the_emptiest_slabs_and_leave_the_fullest_to_words) {
  modelled_set m(2, 64);
  m.add_full(2);
  slab* const low = m.taken_.begin()->first;
  slab* const high = m.taken_.rbegin()->first;
  for (int i = 0; i < 40; ++i) m.give_cell(*m.taken_.at(low).begin());
  for (int i = 0; i < 200; ++i) m.give_cell(*m.taken_.at(high).begin());
  ASSERT_TRUE(m.take_run(32));
  EXPECT_EQ(m.latest(), high);
  m.take(1);
  EXPECT_EQ(m.latest(), low);
}

TEST(slab_set, lanes_fill_slabs_of_their_own) {
  modelled_set m(6, 100);
  for (int i = 0; i < 6; ++i) m.add();
  std::map<slab*, std::uint32_t> lane_of;
  for (std::uint32_t i = 0; i < 6; ++i) {
    m.take(64, i % 3);
    ASSERT_EQ(lane_of.emplace(m.latest(), i % 3).first->second, i % 3);
  }
  EXPECT_EQ(lane_of.size(), 3u);
  const std::vector<std::byte*> all = m.cells_;
  for (std::byte* const cell : all)
    if (slab_set::index_in(m.geometry_, slab_set::slab_around(m.geometry_, cell), cell) % 2 == 0) m.give_cell(cell);
  for (std::uint32_t i = 0; i < 6; ++i) {
    m.take(64, i % 3);
    EXPECT_EQ(lane_of.at(m.latest()), i % 3) << "what a lane freed it takes again";
  }
  ASSERT_NO_FATAL_FAILURE(m.expect_same());
}

TEST(slab_set, a_lane_takes_over_what_others_have_left) {
  modelled_set m(3, 1000);
  for (int i = 0; i < 3; ++i) m.add();
  for (std::uint32_t lane = 0; lane < 3; ++lane) m.take(3, lane);
  while (m.set_.has_free()) {
    m.take(64, 7);
    ASSERT_NO_FATAL_FAILURE(m.expect_same());
  }
  for (const auto& [each, taken] : m.taken_) EXPECT_EQ(taken.size(), each->capacity);
}

using ashlar::block;
using ashlar::or_null;
using ashlar::resource_ref;
using ashlar_test::counting_resource;
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

using ashlar::retain_policy;
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

TEST(slab_store, gives_back_what_it_does_not_retain_in_each_swing) {
  for (const std::size_t slabs : {2u, 9u, 100u}) {
    full_store full(1, slabs);
    full.give_all();
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(full.held(), 1u);
      swing(full, slabs);
    }
  }
}

TEST(slab_store, release_now_retains_nothing) {
  full_store full(ashlar::release_now, 9);
  for (int round = 0; round < 3; ++round) swing(full, 9);
  EXPECT_EQ(full.held(), 0u);
}

}  // namespace
