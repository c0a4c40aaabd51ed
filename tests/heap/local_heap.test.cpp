// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the heap of one thread: the laws, a random walk over all its calls, exhausted memory, growth and purges.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/heap_session.hpp"
#include "tests/support/resident.hpp"

namespace {

using ashlar::local_heap;
using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;
using heap_type = local_heap<upstream_ref>;

struct small_blocks : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;
  counting_resource<> upstream;
  heap_type resource{{.max_bytes = std::size_t{16} << 20}, upstream};
};

// Cells, spans and huge blocks, and each kind over-aligned into the next.
struct blocks_of_all_kinds : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = std::size_t{8} << 20;
  static constexpr std::size_t largest = 150'000;
  static constexpr std::size_t most_live = 12;
  static constexpr std::size_t churn_steps = 40;
  static constexpr bool exhaustible = false;
  static constexpr bool bounded = sizeof(void*) == 4;  // too little address space for such alignments
  counting_resource<> upstream;
  heap_type resource{{}, upstream};
};

const bool tested = ashlar_test::conforms<small_blocks, blocks_of_all_kinds>("local_heap");

// Three heaps beside their models, with system calls and upstreams that fail at times.
TEST(local_heap, keeps_every_block_in_a_random_walk_over_its_whole_face) {
  if (sizeof(void*) == 4 && ashlar_test::has_asan) GTEST_SKIP() << "no address space for that";
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    std::make_unique<ashlar_test::heap_session>(ashlar_test::decisions(seed), ashlar_test::walk_bounds())
        ->run(ashlar_test::is_slow ? 3'000 : 30'000);
}

TEST(local_heap, resizes_in_place_where_there_is_room) {
  std::vector<std::unique_ptr<local_heap<>>> tried;
  void* p = nullptr;
  do {  // a first segment may be short, and what is behind it in use
    ASSERT_LT(tried.size(), 32U);
    tried.push_back(std::make_unique<local_heap<>>());
    p = tried.back()->allocate(100'000);
  } while (tried.back()->reallocate(p, 1'000'000) != p);
  local_heap<>& heap = *tried.back();
  EXPECT_GE(heap.usable_size(p), 1'000'000u);
  EXPECT_EQ(heap.reallocate(p, 70'000), p);
  void* const behind = heap.allocate(400'000);
  EXPECT_GT(behind, p);
  EXPECT_LT(ashlar::address_of(behind) - ashlar::address_of(p), 1'000'000u) << "the tail was given back";
  EXPECT_NE(heap.reallocate(p, 1'000'000), p);
  void* const small = heap.allocate(97);
  EXPECT_EQ(heap.reallocate(small, 111), small);
  EXPECT_NE(heap.reallocate(small, 113), small);
  EXPECT_TRUE(heap.try_expand(behind, 400'000, 400'001, 16));
  EXPECT_FALSE(heap.try_expand(behind, 400'001, 100, 16)) << "a sized free would look for a cell";
  EXPECT_FALSE(heap.try_expand(behind, 400'001, ashlar::max_size, 16));
  EXPECT_FALSE(heap.try_shrink(behind, 400'001, 400'002, 16)) << "that is no shrinking";
  EXPECT_TRUE(heap.try_shrink(behind, 400'001, 100'000, 16));
  void* const tail = heap.allocate(200'000);
  EXPECT_LT(ashlar::address_of(tail) - ashlar::address_of(behind), 400'000u) << "the tail was given back";
  heap.deallocate(behind, 100'000);
}

TEST(local_heap, a_small_block_with_pages_of_its_own_does_not_become_a_cell) {
  local_heap<> heap;
  void* const p = heap.allocate(100, std::size_t{8} << 20);
  EXPECT_TRUE(ashlar::is_aligned(p, std::size_t{8} << 20));
  void* const moved = heap.reallocate(p, 4000);
  EXPECT_NE(moved, p);
  heap.deallocate(moved, 4000);
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, lives_inside_a_given_region) {
  constexpr std::size_t bytes = std::size_t{6} << 20;
  ashlar::new_delete_resource memory;
  void* const region = memory.allocate(bytes, ashlar::detail::segment_bytes);
  {
    ashlar::buffer_resource buffer({static_cast<std::byte*>(region), bytes});
    local_heap<ashlar::resource_ref<ashlar::buffer_resource>> heap{ashlar::resource_ref(buffer)};
    std::size_t got = 0;
    while (void* const p = heap.try_allocate(1000)) {
      ASSERT_GE(p, region);
      ASSERT_LE(static_cast<std::byte*>(p) + 1000, static_cast<std::byte*>(region) + bytes);
      got += 1000;
    }
    EXPECT_GE(got,
              bytes - (std::size_t{1} << 20) - 2 * (ashlar::detail::first_slice - 1) * ashlar::detail::slice_bytes);
    EXPECT_TRUE(heap.invariant());
  }
  memory.deallocate(region, bytes, ashlar::detail::segment_bytes);
}

TEST(local_heap, all_that_is_free_is_for_any_size) {
  local_heap<> heap({.max_bytes = std::size_t{16} << 20});
  std::vector<void*> held;
  for (const std::size_t bytes : {std::size_t{400'000}, std::size_t{10} << 20, std::size_t{3} << 20}) {
    while (void* const p = heap.try_allocate(bytes)) held.push_back(p);
    ASSERT_FALSE(held.empty()) << bytes;
    for (; !held.empty(); held.pop_back()) heap.deallocate(held.back());
    for (std::size_t number = 1; number <= ashlar::detail::size_classes::count; ++number) {
      void* const p = heap.try_allocate(ashlar::detail::size_classes::bytes_of(number));
      ASSERT_NE(p, nullptr) << number;
      heap.deallocate(p);
    }
  }
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, many_heaps_end_apart) {
  counting_resource<> upstream;
  std::vector<std::unique_ptr<heap_type>> heaps;
  for (int i = 0; i < 20; ++i) heaps.push_back(std::make_unique<heap_type>(upstream_ref(upstream)));
  EXPECT_EQ(upstream.allocations(), 0u);
  for (auto& each : heaps) static_cast<void>(each->allocate(30));
  EXPECT_FALSE(heaps[0]->owns(heaps[1]->allocate(30)));
  for (std::size_t i = 0; i < heaps.size(); i += 2) heaps[i].reset();
  EXPECT_EQ(upstream.balance().blocks, 10u);
  for (auto& each : heaps)
    if (each) EXPECT_TRUE(each->invariant());
}

// Allocates and touches 40 MB of small blocks, and frees all but a twentieth of them.
void fill_and_free(local_heap<>& heap, std::vector<void*>& kept) {
  std::vector<void*> held;
  for (int i = 0; i < 40'000; ++i) {
    held.push_back(heap.allocate(1000));
    std::memset(held.back(), 1, 1000);
  }
  for (std::size_t i = 0; i < held.size(); ++i)
    if (i % 10 != 0 || i > 20'000) heap.deallocate(held[i]);
    else kept.push_back(held[i]);
}

TEST(local_heap, gives_memory_back_on_request) {
  if (!ashlar_test::residency_means_something) GTEST_SKIP();
  local_heap<> heap({.retain_bytes = std::size_t{1} << 30});
  const std::size_t before = ashlar_test::resident_bytes();
  std::vector<void*> kept;
  fill_and_free(heap, kept);
  EXPECT_GT(ashlar_test::resident_bytes() - before, std::size_t{38} << 20);
  EXPECT_GT(heap.trim(), std::size_t{24} << 20);
  EXPECT_LT(ashlar_test::resident_bytes() - before, std::size_t{16} << 20);
  for (void* const each : kept) ASSERT_TRUE(std::memchr(each, 1, 1000) == each);
  EXPECT_TRUE(heap.invariant());
}

// Expects: less than `most` bytes stay resident after `fill_and_free`, and what is live is whole.
void expect_resident_below(std::size_t most, const ashlar::heap_options& options) {
  local_heap<> heap(options);
  const std::size_t before = ashlar_test::resident_bytes();
  std::vector<void*> kept;
  fill_and_free(heap, kept);
  EXPECT_LT(ashlar_test::resident_bytes() - before, most);
  for (void* const each : kept) ASSERT_TRUE(std::memchr(each, 1, 1000) == each);
  EXPECT_TRUE(heap.invariant());
}

TEST(local_heap, gives_memory_back_without_being_asked) {
  if (!ashlar_test::residency_means_something) GTEST_SKIP();
  expect_resident_below(std::size_t{28} << 20, {.retain_bytes = std::size_t{1} << 20, .decay_ms = 0});
}

TEST(local_heap, gives_a_peak_back_at_once_as_little_of_it_is_live) {
  if (!ashlar_test::residency_means_something) GTEST_SKIP();
  expect_resident_below(std::size_t{14} << 20, {});
}

TEST(local_heap, gives_memory_back_by_time_as_a_program_allocates_without_a_free) {
  if (!ashlar_test::residency_means_something) GTEST_SKIP();
  local_heap<> heap({.retain_bytes = std::size_t{1} << 20, .decay_ms = 50});
  const std::size_t before = ashlar_test::resident_bytes();
  std::vector<void*> held;
  for (int i = 0; i < 40'000; ++i) std::memset(held.emplace_back(heap.allocate(1000)), 1, 1000);
  for (; held.size() > 10'000; held.pop_back()) heap.deallocate(held.back());
  for (std::size_t bytes = 16; bytes < 8192; bytes += bytes / 8) {
    static_cast<void>(heap.allocate(bytes));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(ashlar_test::resident_bytes() - before, std::size_t{28} << 20) << "twice what is live, and some more";
}

}  // namespace
