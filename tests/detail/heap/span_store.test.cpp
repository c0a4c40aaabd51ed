// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of segments and runs of slices, over an upstream that records its blocks.
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::detail::first_slice;
using ashlar::detail::most_slices;
using ashlar::detail::segment;
using ashlar::detail::segment_bytes;
using ashlar::detail::slice_bytes;
using ashlar::detail::slice_run;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;

template <class Upstream>
struct own_space {
  explicit own_space(Upstream upstream, std::size_t max_bytes) : space(max_bytes, upstream) {}
  ashlar::detail::extent_map<Upstream> space;
};

// A store with its extent map and upstream.
template <class Upstream>
class store_over : own_space<Upstream>, public ashlar::detail::span_store<Upstream> {
public:
  explicit store_over(Upstream upstream = {}, std::size_t max_bytes = ashlar::detail::max_size)
      : own_space<Upstream>(upstream, max_bytes), ashlar::detail::span_store<Upstream>(own_space<Upstream>::space) {}
  using ashlar::detail::span_store<Upstream>::space;
};

using store_type = store_over<upstream_ref>;
using page_store = store_over<ashlar::page_resource>;

struct taken_run {
  std::byte* data;
  std::size_t length;
};

// As in a heap: a run becomes a block as soon as it is taken.
template <class Store>
slice_run take(Store& store, std::size_t length, std::size_t step = 1) {
  slice_run got = store.take(length, step);
  if (got.data == nullptr && store.grow(length, step)) got = store.take(length, step);
  if (got.data != nullptr) segment::of(got.data)->set_block(segment::slice_of(got.data), length);
  return got;
}

TEST(span_store, cuts_segments_into_runs_of_any_length_and_alignment) {
  counting_resource<> upstream;
  store_type store(upstream);
  EXPECT_EQ(upstream.allocations(), 0u);
  std::vector<taken_run> held;
  std::mt19937 random(3);
  for (int step = 0; step < 4000; ++step) {
    if (random() % 2 == 0 && held.size() < 150) {
      const std::size_t wanted = random() % 8 == 0 ? random() % 25 + 1 : random() % 6 + 1;
      const std::size_t steps = std::size_t{1} << random() % 5;
      const slice_run got = take(store, wanted, steps);
      ASSERT_NE(got.data, nullptr);
      ASSERT_TRUE(ashlar::detail::is_aligned(got.data, steps * slice_bytes));
      ASSERT_FALSE(got.is_zero) << "nothing is known of this upstream";
      held.push_back({got.data, wanted});
    } else if (!held.empty()) {
      const std::size_t i = random() % held.size();
      EXPECT_TRUE(store.is_taken(held[i].data));
      store.give(held[i].data, held[i].length);
      EXPECT_FALSE(store.is_taken(held[i].data));
      held[i] = held.back();
      held.pop_back();
    }
    std::size_t slices = 0;
    for (const taken_run& each : held) slices += each.length;
    ASSERT_EQ(store.used_bytes(), slices * slice_bytes);
    if (step % 16 == 0) ASSERT_TRUE(store.invariant());
  }
  std::size_t runs = 0;
  store.for_each_run([&](segment&, std::size_t, std::size_t) { ++runs; });
  EXPECT_EQ(runs, held.size());
  for (const taken_run& each : held) store.give(each.data, each.length);
  const std::size_t dirty = store.dirty_bytes();
  EXPECT_EQ(store.trim(0), dirty);
  EXPECT_EQ(store.segments(), 0u);
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, freed_neighbours_are_one_run) {
  counting_resource<> upstream;
  store_type store(upstream);
  std::vector<slice_run> all;
  for (std::size_t i = 0; i < most_slices; ++i) all.push_back(take(store, 1));
  EXPECT_EQ(store.segments(), 1u);
  EXPECT_EQ(store.take(1).data, nullptr);
  for (std::size_t i = 0; i < most_slices; i += 2) store.give(all[i].data, 1);
  EXPECT_EQ(store.take(2).data, nullptr);
  for (std::size_t i = 1; i < most_slices; i += 2) store.give(all[i].data, 1);
  EXPECT_EQ(store.take(most_slices).data, all[0].data);
  store.give(all[0].data, most_slices);
}

TEST(span_store, a_freed_block_serves_requests_down_to_two_thirds_of_its_length) {
  counting_resource<> upstream;
  store_type store(upstream);
  const slice_run a = take(store, 12);
  store.give_block(a.data);
  EXPECT_EQ(store.take_free_run(7), nullptr);
  const bool is_exact = ashlar::checking_level >= ashlar::checking::checked;  // sizes are checked
  EXPECT_EQ(store.take_free_run(8), is_exact ? nullptr : a.data);
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, a_freed_block_waits_for_the_next_of_its_length) {
  counting_resource<> upstream;
  store_type store(upstream);
  const slice_run a = take(store, 4), b = take(store, 4);
  store.give_block(a.data);
  store.give_block(b.data);
  EXPECT_EQ(take(store, 2).data, b.data + 4 * slice_bytes);
  EXPECT_EQ(store.take_free_run(4), b.data);
  store.give_block(b.data);
  store.join_spare();
  EXPECT_EQ(store.take_block(8).data, a.data) << "joined with its neighbour";
  EXPECT_EQ(store.take_block(most_slices).data, nullptr);
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, a_run_starts_where_one_has_started) {
  page_store store;
  static_cast<void>(take(store, 33));  // in a whole segment: a short one might not become longer
  const slice_run first = take(store, 3), second = take(store, 5), third = take(store, 2);
  store.give(first.data, 3);
  store.give(second.data, 5);
  EXPECT_EQ(take(store, 1).data, first.data);
  EXPECT_EQ(take(store, 4).data, second.data) << "the lowest place is two slices below";
  EXPECT_EQ(take(store, 2).data, first.data + slice_bytes) << "where none has started, the lowest";
  EXPECT_GT(take(store, 4).data, third.data);
  store.give(second.data, 4);
  EXPECT_GT(store.trim(0), 0u);
  EXPECT_EQ(take(store, 2).data, second.data) << "the lowest of all that are fresh alike";
}

TEST(span_store, extends_a_run_into_free_slices_only) {
  counting_resource<> upstream;
  store_type store(upstream);
  const slice_run a = take(store, 4), b = take(store, 4);
  EXPECT_FALSE(store.extend(a.data, 4, 5));
  store.give(b.data, 4);
  EXPECT_TRUE(store.extend(a.data, 4, 7));
  EXPECT_EQ(take(store, 1).data, b.data + 3 * slice_bytes);
  EXPECT_FALSE(store.extend(a.data, 7, 8));
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, asks_for_less_where_there_is_less) {
  counting_resource<> upstream;
  upstream.limit_bytes(segment_bytes + 3 * 512 * 1024);
  store_type store(upstream);
  std::size_t slices = 0;
  while (take(store, 1).data != nullptr) ++slices;
  EXPECT_EQ(store.segments(), 2u);
  EXPECT_GE(slices + 2 * first_slice, (segment_bytes + 512 * 1024) / slice_bytes);
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, asks_for_just_what_a_run_needs_before_it_gives_up) {
  for (std::size_t length = 1; length <= most_slices; ++length) {
    counting_resource<> upstream;
    upstream.limit_bytes((first_slice + length) * slice_bytes);
    store_type store(upstream);
    EXPECT_NE(take(store, length).data, nullptr) << length;
    EXPECT_TRUE(store.invariant());
  }
}

TEST(span_store, keeps_to_its_limit) {
  counting_resource<> upstream;
  store_type store(upstream, 10 * slice_bytes);
  std::size_t slices = 0;
  while (take(store, 1).data != nullptr) ++slices;
  EXPECT_EQ(slices, 10 - first_slice);
  EXPECT_LE(store.space().held_bytes(), 10 * slice_bytes);
}

TEST(span_store, tables_grow_with_the_heap) {
  if (sizeof(void*) == 4) GTEST_SKIP() << "no address space for that";
  page_store store;
  std::vector<std::byte*> runs;
  for (int i = 0; i < 100; ++i) runs.push_back(take(store, most_slices).data);
  EXPECT_EQ(store.segments(), 100u);
  EXPECT_TRUE(store.invariant());
  for (std::size_t i = 0; i < runs.size(); i += 2) store.give(runs[i], most_slices);
  EXPECT_EQ(store.trim(0), 50 * most_slices * slice_bytes);
  EXPECT_EQ(store.segments(), 50u);
  EXPECT_TRUE(store.invariant());
}

TEST(span_store, fresh_slices_are_zero_and_used_ones_become_so_by_trimming) {
  page_store store;
  const slice_run a = take(store, 2), b = take(store, 2);
  EXPECT_TRUE(a.is_zero && b.is_zero);
  a.data[5] = std::byte{1};
  store.give(a.data, 2);
  EXPECT_EQ(store.dirty_bytes(), 2 * slice_bytes);
  const slice_run again = take(store, 2);
  EXPECT_EQ(again.data, a.data);
  EXPECT_FALSE(again.is_zero);
  store.give(again.data, 2);
  EXPECT_EQ(store.trim(2 * slice_bytes), 0u) << "so much may be kept";
  EXPECT_EQ(store.trim(0), 2 * slice_bytes);
  EXPECT_EQ(store.dirty_bytes(), 0u);
  const slice_run zero = take(store, 2);
  EXPECT_TRUE(zero.is_zero);
  EXPECT_EQ(zero.data[5], std::byte{0});
}

TEST(span_store, discards_as_much_as_is_too_much) {
  page_store store;
  std::vector<std::byte*> runs;
  for (int i = 0; i < 100; ++i) runs.push_back(take(store, 1).data);
  for (std::size_t i = 1; i < 100; ++i) store.give(runs[i], 1);
  const std::size_t dirty = store.dirty_bytes();
  EXPECT_EQ(dirty, 99 * slice_bytes);
  store.discard_some(1);
  EXPECT_LT(store.dirty_bytes(), dirty) << "of one segment";
  EXPECT_GT(store.dirty_bytes(), 0u);
  EXPECT_EQ(store.take_refetched(), 0u);
  store.discard_some(dirty);
  EXPECT_EQ(store.dirty_bytes(), 0u);
  EXPECT_TRUE(take(store, 40).is_zero);
  EXPECT_EQ(store.take_refetched(), 40 * slice_bytes) << "given back too soon";
  EXPECT_TRUE(store.invariant());
}

}  // namespace
