// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of one heap that start and end: live blocks and unsent frees at their end, generations that free blocks of
// their predecessors, and resident memory that neither grows nor stays.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/heap_blocks.hpp"
#include "tests/support/heap_life.hpp"
#include "tests/support/resident.hpp"
#include "tests/support/stamped_block.hpp"
#include "tests/support/stress.hpp"

#if ASHLAR_POSIX
#include "tests/support/child.hpp"
#endif

namespace {

using ashlar::heap;
using ashlar::local_heap;
using ashlar_test::any_size;
using ashlar_test::dirty_life;
using ashlar_test::free;
using ashlar_test::goes_back;
using ashlar_test::in_a_thread;
using ashlar_test::is_watched;
using ashlar_test::make;
using ashlar_test::on_threads;
using ashlar_test::resident_bytes;
using ashlar_test::stamped_block;
using ashlar_test::stress_rounds;

TEST(heap_lifetimes, spans_are_freed_by_another_thread_while_their_owner_takes_new_ones) {
  constexpr std::size_t places = 64;
  const std::size_t spans = is_watched ? 10'000 : 100'000 * stress_rounds(1);
  heap<> all;
  std::vector<std::atomic<void*>> under_way(places);
  std::thread other([&] {
    for (std::size_t i = 0; i < spans; ++i) {
      void* p = nullptr;
      while ((p = under_way[i % places].exchange(nullptr)) == nullptr) std::this_thread::yield();
      all.deallocate(p);
    }
  });
  for (std::size_t i = 0; i < spans; ++i) {
    void* const p = all.allocate(40'000 + i * 97 % 200'000);
    if (i % 3 == 0) all.deallocate(all.allocate(40'000 + i * 89 % 200'000));
    void* none = nullptr;
    while (!under_way[i % places].compare_exchange_weak(none, p)) none = nullptr, std::this_thread::yield();
  }
  other.join();
  EXPECT_TRUE(all.invariant());
  EXPECT_TRUE(goes_back(all));
}

// A table of blocks: each new thread frees some, of any thread, and leaves as many.
class nursery {
public:
  explicit nursery(heap<>& all) : all_(all), blocks_(places) {}

  void live(unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 20; ++i) {
      stamped_block mine = make(all_, any_size(random), random());
      const std::size_t place = random() % places;
      {
        const std::lock_guard held(lock_);
        std::swap(mine, blocks_[place]);
      }
      if (mine.p != nullptr) free(all_, mine);
    }
  }

  void end() {
    for (const stamped_block& each : blocks_)
      if (each.p != nullptr) free(all_, each);
  }

  [[nodiscard]] std::size_t live_bytes() const {
    std::size_t bytes = 0;
    for (const stamped_block& each : blocks_) bytes += each.bytes;
    return bytes;
  }

private:
  static constexpr std::size_t places = 3000;

  heap<>& all_;
  std::mutex lock_;
  std::vector<stamped_block> blocks_;
};

// Each heap may retain as many free bytes as are live in it, and `retain_bytes`. Partly free slabs are fully resident,
// which at most doubles that here. A loss of a thousand bytes for each thread would be seen. At `hardened` freed blocks
// are filled, so that untouched pages are resident too, which doubles it again.
TEST(heap_lifetimes, ten_thousand_births_and_deaths_do_not_grow) {
  constexpr unsigned rows = 4;
  constexpr std::size_t retain_bytes = std::size_t{1} << 20;
  const auto births = static_cast<unsigned>(stress_rounds(10'000) / rows);
  heap<> all({.retain_bytes = retain_bytes});
  nursery blocks(all);
  const std::size_t before = resident_bytes();
  for (unsigned born = 0; born < births; ++born) {
    ashlar_test::on_threads(rows, [&](std::size_t row) { blocks.live(born * rows + static_cast<unsigned>(row)); });
  }
  EXPECT_LE(all.parked(), std::size_t{rows} + 1);
  if constexpr (ashlar_test::residency_means_something) {
    constexpr std::size_t most = ashlar::checking_level >= ashlar::checking::hardened ? 5 : 3;
    EXPECT_LE(resident_bytes(), before + most * blocks.live_bytes() + all.parked() * retain_bytes + retain_bytes);
  }
  blocks.end();
  EXPECT_TRUE(goes_back(all));
}

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

TEST(heap_lifetimes, segments_of_ended_heaps_pass_from_thread_to_thread) {
  on_threads(4, [](std::size_t who) {
    for (std::size_t i = 0; i < stress_rounds(400); ++i) {
      dirty_life<local_heap<>>(i * 4 + who);
      dirty_life<heap<>>(i * 4 + who);
    }
  });
}

#if ASHLAR_POSIX
TEST(heap_lifetimes, heaps_come_and_go_in_the_child_of_a_fork) {
  std::atomic<bool> is_over = false;
  std::thread forks([&] {
    for (int i = 0; i < (ashlar_test::has_tsan ? 3 : 30); ++i)
      EXPECT_TRUE(ashlar_test::child_does([] {
        for (std::size_t life = 0; life < 20; ++life) dirty_life<local_heap<>>(life), dirty_life<heap<>>(life);
        return !testing::Test::HasFailure();
      }));
    is_over = true;
  });
  on_threads(2, [&](std::size_t who) {
    for (std::size_t i = who; !is_over; ++i) dirty_life<local_heap<>>(i), dirty_life<heap<>>(i);
  });
  forks.join();
}
#endif

}  // namespace
