// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the times when slabs are requested, retained and given back.
#include <ashlar/detail/slab/slab_store.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/resource/block_pool.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::retain_policy;
using ashlar::detail::slab_geometry;
using ashlar_test::counting_resource;
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

TEST(slab_store, retains_empty_slabs_by_its_policy) {
  for (const std::size_t spare : {0u, 1u, 5u}) {
    full_store full(spare, 64);
    EXPECT_EQ(full.held(), 64u);
    while (full.words.size() > 32) full.give_batch();
    EXPECT_EQ(full.store.slabs().empty_slabs(), spare + 32 / 8);
    full.give_all();
    EXPECT_EQ(full.held(), spare);
    EXPECT_TRUE(full.store.slabs().invariant());
  }
}

TEST(slab_store, release_now_keeps_none_and_never_release_all) {
  full_store now(ashlar::release_now, 20);
  now.give_batch();
  EXPECT_EQ(now.held(), 19u);
  now.give_all();
  EXPECT_EQ(now.held(), 0u);
  full_store never(ashlar::never_release, 20);
  never.give_all();
  EXPECT_EQ(never.held(), 20u);
  never.store.shrink(geometry);
  EXPECT_EQ(never.held(), 0u);
}

TEST(slab_store, takes_cells_back_in_any_order) {
  full_store full(ashlar::release_now, 4);
  std::vector<std::byte*> cells;
  for (const ashlar::detail::cell_batch& word : full.words)
    for (std::size_t i = 0; i < 64; ++i)
      if (std::byte* const cell = word.base + i * geometry.cell_stride(); word.has(cell, geometry.cell_stride()))
        cells.push_back(cell);
  full.words.clear();
  std::ranges::shuffle(cells, std::mt19937(1));
  std::sort(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(cells.size() / 2));
  ashlar::detail::gathered_cells<ashlar::detail::slab> neighbours;
  for (std::byte* const cell : cells) full.store.gather(geometry, cell, neighbours);
  EXPECT_TRUE(full.store.slabs().invariant());
  EXPECT_EQ(full.store.slabs().taken(), static_cast<std::size_t>(std::popcount(neighbours.batch.mask)));
  full.store.give(geometry, neighbours);
  EXPECT_EQ(full.store.slabs().taken(), 0u);
  EXPECT_EQ(full.held(), 0u);
}

TEST(slab_store, a_new_policy_holds_at_once) {
  full_store full(ashlar::never_release, 20);
  full.give_all();
  full.store.retain(geometry, retain_policy(3));
  EXPECT_EQ(full.held(), 3u);
  full.store.retain(geometry, ashlar::release_now);
  EXPECT_EQ(full.held(), 0u);
}

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

TEST(slab_store, single_cells_and_runs_come_back_too) {
  full_store full(ashlar::release_now, 2);
  full.give_all();
  full.store.add(geometry, &full, full.store.request(geometry));
  void* const run = full.store.take_run(geometry, 5);
  EXPECT_EQ(full.store.slabs().taken(), 5u);
  full.store.retire_run(geometry, run, 5);
  EXPECT_EQ(full.held(), 0u);
}

}  // namespace
