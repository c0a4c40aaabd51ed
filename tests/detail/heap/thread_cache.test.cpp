// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a thread cache: limits of its free lists, their accounting, and their refill from cell batches.
#include <ashlar/detail/heap/thread_cache.hpp>

#include <array>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::detail::size_classes;

// From pages, since no variable has so large an alignment on Windows.
constexpr std::size_t slice_bytes = ashlar::detail::slice_bytes;
std::byte* const span = static_cast<std::byte*>(ashlar::page_resource().allocate(10 * slice_bytes, slice_bytes));
std::byte* const slice = span;

struct alignas(16) cell {
  std::array<std::byte, 16> bytes;
};

// A write to any byte of a link; the second word is the seal of level checked.
TEST(thread_cache, a_link_that_was_written_to_is_not_sound) {
  using stacks_type = ashlar::detail::thread_cache;
  if (!stacks_type::seals_links) GTEST_SKIP() << "links are sealed at level checked";
  std::array<cell, 4> cells{};
  stacks_type stacks;
  for (cell& each : cells) stacks.push(0, &each);
  for (cell& each : cells) {
    ashlar::detail::mark_readable(&each, sizeof(each));
    EXPECT_TRUE(stacks_type::is_sound(&each));
    for (std::size_t at = 0; at < stacks_type::link_bytes; ++at) {
      each.bytes[at] ^= std::byte{1};
      EXPECT_FALSE(stacks_type::is_sound(&each)) << at;
      each.bytes[at] ^= std::byte{1};
    }
  }
  cells[3] = cells[2];
  EXPECT_FALSE(stacks_type::is_sound(&cells[3])) << "it is another cell's";
  cells[3].bytes.fill(std::byte{});
  EXPECT_FALSE(stacks_type::is_sound(&cells[3]));
}

TEST(thread_cache, counts_its_bytes_by_sampled_addresses) {
  ashlar::detail::thread_cache cache;
  const std::size_t number = size_classes::of(64), each = ashlar::detail::sampled_bytes_of[number];
  EXPECT_EQ(each, ashlar::detail::bytes_per_sample(number));
  std::size_t counted = 0;
  for (; !cache.count_freed(number); ++counted) EXPECT_EQ(cache.bytes(), (counted + 1) * each);
  EXPECT_GT((counted + 1) * each, std::size_t{256} * 1024);
  cache.count_taken(number);
  EXPECT_EQ(cache.bytes(), counted * each);
  static_cast<void>(cache.count_freed(number + 1));
  cache.count_swept(number);
  EXPECT_EQ(cache.bytes(), ashlar::detail::sampled_bytes_of[number + 1]);
  cache.clear();
  EXPECT_EQ(cache.bytes(), 0u);
  cache.count_taken(number);
  EXPECT_EQ(cache.bytes(), 0u) << "what came from a batch was not counted";
}

TEST(thread_cache, has_free_spans_up_to_eight_megabytes) {
  std::vector<ashlar::detail::span_header> runs(20);
  ashlar::detail::thread_cache cache;
  std::size_t slices = 0;
  for (auto& run : runs) {
    run.cells = span, run.length = 10;
    if (!cache.has_room_for(run.length)) break;
    cache.push_run(run);
    EXPECT_EQ(cache.bytes(), (slices += 10) * slice_bytes);
  }
  EXPECT_EQ(slices, 120u);
  EXPECT_EQ(cache.pop_run(11), nullptr);
  EXPECT_EQ(cache.pop_run(6), nullptr) << "more than a half longer";
  EXPECT_EQ(cache.pop_run(7), span);
  EXPECT_EQ(cache.bytes(), 110 * slice_bytes);
  EXPECT_EQ(cache.reused_run_bytes(), 10 * slice_bytes);
  std::size_t visited = 0, swept = 0;
  cache.for_each_run([&](ashlar::detail::span_header&) { ++visited; });
  cache.sweep_runs([&](ashlar::detail::span_header&) { ++swept; });
  EXPECT_TRUE(visited == 11 && swept == 11 && !cache.has_runs() && cache.bytes() == 0);
  cache.push_run(runs[0]);
  cache.clear();
  EXPECT_TRUE(!cache.has_runs() && cache.bytes() == 0);
}

TEST(thread_cache, get_the_next_cells_of_a_batch_in_its_order) {
  ashlar::detail::thread_cache cache;
  ashlar::detail::cell_batch batch{slice + 1024, 0b1110'1111'0101};
  cache.refill(3, batch, 16, slice + 1024);
  EXPECT_EQ(batch.mask, 0b1000'0000'0001u) << "seven went, and the first cell comes last";
  for (const std::size_t place : {2u, 4u, 5u, 6u, 7u, 9u, 10u}) EXPECT_EQ(cache.pop(3), slice + 1024 + place * 16);
  EXPECT_TRUE(cache.is_empty(3));
}

}  // namespace
