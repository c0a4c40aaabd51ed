// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the contents of a heap for any thread: exact after threads have ended, bounded while they run.
#include <ashlar/detail/heap/heap_api.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap_threads/thread_heaps.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/heap_json.hpp>
#include <ashlar/heap/heap_map.hpp>
#include <ashlar/heap/heap_statistics.hpp>

#include "tests/support/child.hpp"
#include "tests/support/deadline.hpp"
#include "tests/support/json.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::heap;
using ashlar::heap_statistics;
using ashlar::statistics_of;

constexpr bool sends = ashlar::checking_level < ashlar::checking::checked;

template <class F>
void in_thread(F f) {
  std::thread(std::move(f)).join();
}

std::size_t any_size(std::mt19937& random) {
  if (random() % 300 == 0) return 5'000'000;
  return 1 + random() % (random() % 30 == 0 ? 200'000 : 500);
}

void expect_right_sums(heap<>& all, std::size_t live) {
  const heap_statistics sums = statistics_of(all);
  EXPECT_EQ(sums.all.live_blocks, live);
  EXPECT_EQ(sums.cached_bytes, 0u);
  EXPECT_EQ(sums.held_bytes, all.held_bytes());
  EXPECT_TRUE(sums.invariant());
  EXPECT_GE(sums.table_bytes,
            sizeof(ashlar::detail::thread_heap<ashlar::detail::extent_resource<ashlar::page_resource>>));
}

TEST(heap_survey, counts_a_cached_segment_as_spare) {
  heap<> all;
  in_thread([&] { all.deallocate(all.allocate(3'000'000)); });  // a whole segment
  void* const huge = all.allocate(6'000'000);                   // the parked heap gives its free memory up for it
  const heap_statistics sums = statistics_of(all);
  EXPECT_EQ(sums.huge.spare_bytes, ashlar::detail::segment_bytes);
  EXPECT_TRUE(sums.invariant() && sums.held_bytes == all.held_bytes());
  all.deallocate(huge);
}

TEST(heap_survey, estimates_the_cells_cached_by_other_threads) {
  heap<> all;
  std::vector<void*> blocks;
  std::atomic<int> stage = 0;
  std::thread sleeper([&] {
    for (int i = 0; i < 3'000; ++i) blocks.push_back(all.allocate(64));
    for (std::size_t i = 0; i < 1'500; ++i) all.deallocate(blocks[i]);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  const heap_statistics sums = statistics_of(all);
  std::size_t visited = 0;
  all.for_each_live([&](void*, std::size_t) { ++visited; });
  if (sends) {
    EXPECT_TRUE(sums.all.live_blocks >= 3'000 && sums.all.live_blocks < 3'064) << "what is at hand counts as live";
    EXPECT_GT(sums.cached_bytes, 0u);
    EXPECT_NEAR(static_cast<double>(sums.cached_bytes), 1'500 * 64.0, 2.0 * ashlar::detail::slice_bytes);
    EXPECT_EQ(visited, sums.all.live_blocks);
  } else {
    EXPECT_TRUE(sums.all.live_blocks == 1'500 && sums.cached_bytes == 0 && visited == 1'500);
  }
  stage = 2;
  sleeper.join();
  expect_right_sums(all, 1'500);
}

#if ASHLAR_HAS_EXCEPTIONS
TEST(heap_survey, releases_every_part_if_the_callback_throws) {
  heap<> all;
  void* theirs = nullptr;
  in_thread([&] { theirs = all.allocate(5'000); });
  const std::vector<void*> blocks{theirs, all.allocate(100), all.allocate(5'000'000)};
  for (int after = 0; after < 200; after += 9) {
    int left = after;
    const auto throw_once = [&](const auto&...) {
      if (left-- == 0) throw after;
    };
    const auto expect_whole = [&](auto&& look) {
      left = after % 3;
      EXPECT_THROW(look(), int);
      EXPECT_TRUE(all.invariant());
      all.deallocate(all.allocate(50));
    };
    expect_whole([&] { all.for_each_live([&](void* p, std::size_t) { throw_once(p); }); });
    expect_whole([&] { all.inspect([&](const ashlar::detail::heap_region& piece) { throw_once(piece); }); });
    expect_whole([&] {
      left = after;
      ashlar::write_heap_svg(all, throw_once);
      throw after;  // thrown here when the picture has fewer parts
    });
  }
  for (void* const each : blocks) all.deallocate(each);
  expect_right_sums(all, 0);
}
#endif

TEST(heap_survey, may_be_written_down_while_threads_go_on) {
  heap<> all;
  std::atomic<bool> is_over = false;
  std::atomic<int> running = 0;
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 3; ++i)
    others.emplace_back([&, i] {
      std::mt19937 random(i);
      std::vector<void*> mine(200);
      ++running;
      while (!is_over) {
        void*& place = mine[random() % mine.size()];
        all.deallocate(std::exchange(place, all.allocate(any_size(random))));
      }
      for (void* const p : mine) all.deallocate(p);
    });
  while (running != 3) std::this_thread::yield();
  for (std::size_t i = 0; i < ashlar_test::stress_rounds(20); ++i) {
    std::string json;
    std::size_t written = 0;
    ashlar::write_json(statistics_of(all), [&](std::string_view piece) { json += piece; });
    EXPECT_TRUE(ashlar_test::json(json).is_valid());
    ashlar::write_heap_svg(all, [&](std::string_view piece) { written += piece.size(); });
    ashlar::write_heap_html(all, [&](std::string_view piece) { written += piece.size(); });
    EXPECT_GT(written, 10'000u);
    all.for_each_live([&](void* p, std::size_t) { written += p == nullptr ? 1 : 0; });
    EXPECT_TRUE(statistics_of(all).invariant());
  }
  is_over = true;
  for (std::thread& each : others) each.join();
  expect_right_sums(all, 0);
}

// A fork that held the locks of the other heap would wait for the callback, which waits for them.
TEST(heap_survey, callbacks_use_another_heap_while_a_thread_forks) {
  using ashlar::detail::fork_participants;
  using ashlar::detail::fork_step;
  static std::atomic<bool> is_taking_locks = false;
  static ashlar::detail::fork_participant watcher{
      .before = [](void*, fork_step step) noexcept { is_taking_locks = step != fork_step::outer_locks; },
      .in_parent = [](void*) noexcept {},
      .in_child = [](void*) noexcept {}};
  const ashlar_test::deadline hang;
  fork_participants::enter(watcher);
  heap<> visited, other;
  void* const live = visited.allocate(100);
  other.deallocate(other.allocate(100));
  std::vector<std::thread> forks;
  unsigned calls = 0;
  const auto fork_beside = [&] {
    if (calls++ != 0) return;
    static std::atomic<bool> begins;
    begins = false;
    is_taking_locks = false;
    std::thread forking([] {
      begins = true;
      EXPECT_TRUE(ashlar_test::child_does([] { return true; }));
    });
    while (!begins) std::this_thread::yield();
    for (int i = 0; i < 20 && !is_taking_locks; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    other.deallocate(other.allocate(std::size_t{5} << 20));
    EXPECT_FALSE(is_taking_locks) << "the fork waits for the callback, without a lock";
    forks.push_back(std::move(forking));
  };
  visited.for_each_live([&](void*, std::size_t) { fork_beside(); });
  calls = 0;
  visited.inspect([&](const ashlar::detail::heap_region&) { fork_beside(); });
  for (std::thread& each : forks) each.join();
  visited.deallocate(live);
  fork_participants::leave(watcher);
}

}  // namespace
