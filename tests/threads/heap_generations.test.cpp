// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Generations of threads of one heap that free blocks of their predecessors: resident memory neither grows nor stays.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/heap_blocks.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::heap;
using ashlar_test::any_size;
using ashlar_test::free;
using ashlar_test::goes_back;
using ashlar_test::in_a_thread;
using ashlar_test::is_watched;
using ashlar_test::make;
using ashlar_test::resident_bytes;
using ashlar_test::stamped_block;
using ashlar_test::stress_rounds;

constexpr unsigned kinds = 5;  // of generations, in turn: the 20th has as many live bytes as the 300th

/// The maximum of resident and held bytes while each kind runs once.
struct footprint {
  std::size_t resident = 0, held = 0;

  void add(const heap<>& all) {
    resident = std::max(resident, resident_bytes());
    held = std::max(held, all.held_bytes());
  }
};

void touch_pages(const stamped_block& block) {
  for (std::size_t at = 4096; at + 4096 < block.bytes; at += 4096) static_cast<std::byte*>(block.p)[at] = std::byte{1};
}

// A thread of the next generation frees the blocks after their owner has ended. From the 20th generation on, held
// memory may grow by a twentieth, and by one segment in any case; resident memory, inside of what is held, by a tenth:
// heaps are parked with their free lists, whose cells lie in more pages after each thread, until the 1,000th or so.
template <class Size>
void expect_no_growth(std::size_t blocks_each, Size size) {
  heap<> all;
  std::vector<stamped_block> live, older;
  live.reserve(blocks_each), older.reserve(blocks_each);
  footprint early, last;
  const std::size_t generations = 300 * stress_rounds(1);
  for (std::size_t generation = 0; generation < generations; ++generation) {
    in_a_thread([&] {
      std::mt19937 random(static_cast<unsigned>(generation % kinds));
      for (std::size_t i = 0; i < blocks_each; ++i) live.push_back(make(all, size(random), i ^ generation));
      if constexpr (!is_watched) std::for_each(live.begin(), live.end(), touch_pages);
    });
    in_a_thread([&] {
      for (const stamped_block& each : older) free(all, each);
    });
    older.swap(live);
    live.clear();
    if (generation >= 20 - kinds && generation < 20) early.add(all);
    if (generation + kinds >= generations) last.add(all);
  }
  EXPECT_LE(last.held, early.held + std::max(early.held / 20, ashlar::detail::segment_bytes));
  if constexpr (ashlar_test::residency_means_something) {
    EXPECT_LE(last.resident, early.resident + early.resident / 10);
  }
  if (std::getenv("ASHLAR_STRESS") != nullptr)
    std::printf("resident %zu KiB, then %zu; held %zu, then %zu\n", early.resident / 1024, last.resident / 1024,
                early.held / 1024, last.held / 1024);
  for (const stamped_block& each : older) free(all, each);
  EXPECT_TRUE(goes_back(all));
}

TEST(heap_generations, generations_of_all_sizes_do_not_grow) { expect_no_growth(is_watched ? 200 : 2000, any_size); }

// Blocks of 33 KiB to 1 MiB go back one by one, and stay whole until a request needs another length.
TEST(heap_generations, generations_of_runs_do_not_grow) {
  const std::size_t runs = std::min<std::size_t>(100, 40 * stress_rounds(1));
  expect_no_growth(is_watched ? 20 : runs, [](std::mt19937& random) { return 33 * 1024 + random() % (991 * 1024); });
}

// A sleeping owner cannot purge the blocks that others free; the freeing threads do.
TEST(heap_generations, runs_of_a_sleeper_that_others_free_go_back) {
  if constexpr (!ashlar_test::residency_means_something) GTEST_SKIP();
  constexpr std::size_t mib = std::size_t{1} << 20;
  heap<> all({.retain_bytes = 8 * mib, .decay_ms = 0});
  std::vector<stamped_block> blocks;
  const std::size_t before = resident_bytes();
  for (std::uint64_t i = 0; i < 64; ++i) blocks.push_back(make(all, mib, i));
  std::for_each(blocks.begin(), blocks.end(), touch_pages);
  EXPECT_GE(resident_bytes(), before + 60 * mib);
  in_a_thread([&] {
    for (const stamped_block& each : blocks) free(all, each);
  });
  EXPECT_LE(resident_bytes(), before + 14 * mib);
  EXPECT_TRUE(goes_back(all));
}

}  // namespace
