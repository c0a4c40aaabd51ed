// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of when a heap gives memory back unasked: not before there is too much, in parts, and less after regret.
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/idle_memory.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::page_resource;
using ashlar::slice_bytes;

constexpr std::size_t keep = std::size_t{4} << 20;

struct idle_memory_test : ::testing::Test {
  std::byte* take(std::size_t length) {
    if (std::byte* const shelved = segments.take_shelved(length)) return shelved;
    ashlar::slice_run run = segments.take_block(length);
    if (run.data == nullptr && segments.grow(length)) run = segments.take_block(length);
    return run.data;
  }
  void fill(std::size_t count) {
    while (held.size() < count) held.push_back(take(4));
  }
  void free_down_to(std::size_t count) {
    for (; held.size() > count; held.pop_back()) idle.on_freed(segments.give_block(held.back()) * slice_bytes, hot);
  }
  [[nodiscard]] std::size_t spare() const { return segments.dirty_bytes() + segments.spare_bytes(); }

  ashlar::heap_space<page_resource> space{ashlar::max_size, page_resource{}};
  ashlar::segment_store<page_resource> segments{space};
  ashlar::cell_store<page_resource> cells{segments};
  ashlar::hot_stacks hot;
  ashlar::idle_memory<page_resource> idle{segments, cells, keep};
  std::vector<std::byte*> held;
};

TEST_F(idle_memory_test, keeps_as_much_as_is_live_and_what_it_was_told_to_keep) {
  fill(400);
  free_down_to(210);
  EXPECT_EQ(spare(), 190 * 4 * slice_bytes) << "less than is live";
  free_down_to(20);
  EXPECT_LT(spare(), 60 * 4 * slice_bytes) << "five times what is live was free";
  free_down_to(0);
  EXPECT_GE(spare(), keep / 2) << "whole segments go at once";
  EXPECT_TRUE(segments.invariant() && cells.invariant());
}

TEST_F(idle_memory_test, keeps_more_where_what_it_gave_back_is_wanted_again) {
  std::size_t least = 0;
  for (int swing = 0; swing < 12; ++swing) {
    fill(400);
    free_down_to(0);
    if (swing == 0) least = spare();
  }
  EXPECT_LT(least, 200 * 4 * slice_bytes);
  EXPECT_GT(spare(), 390 * 4 * slice_bytes) << "all that each swing needs";
}

TEST_F(idle_memory_test, forgets_regret_when_nobody_needs_what_it_keeps) {
  const auto swing_through = [&](std::size_t blocks, int times) {
    for (int swing = 0; swing < times; ++swing) {
      fill(blocks);
      free_down_to(0);
    }
  };
  swing_through(400, 12);
  const std::size_t kept = spare();
  swing_through(50, 4);
  EXPECT_EQ(spare(), kept) << "it may be wanted yet";
  swing_through(50, 400);
  EXPECT_LT(spare(), 150 * 4 * slice_bytes);
  idle.clear();
}

TEST(idle_memory, may_be_told_to_keep_nothing) {
  ashlar::local_heap<> heap({.keep_bytes = 0});
  for (int i = 0; i < 3; ++i) heap.deallocate(heap.allocate(100'000));
  EXPECT_TRUE(heap.invariant());
}

}  // namespace
