// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the checks of blocks whose owner is found by their address, through the heap of the process.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/large_block_calls.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

using ashlar::process_heap;

void in_other_thread(auto f) { std::thread(f).join(); }

TEST(owner_checks_of_threads, let_memory_of_other_threads_come_back) {
  std::vector<void*> freed, again;
  std::set<std::uintptr_t> slices;
  const auto slice_of = [](const void* p) { return ashlar::detail::address_of(p) / ashlar::detail::slice_bytes; };
  for (int i = 0; i != 3000; ++i)
    freed.push_back(process_heap().try_allocate(700)), slices.insert(slice_of(freed.back()));
  in_other_thread([&] {
    for (void* const p : freed) process_heap().deallocate(p);
    process_heap().flush();
  });
  std::size_t known = 0;
  for (int i = 0; i != 6000; ++i) {
    again.push_back(process_heap().try_allocate(700));
    known += slices.count(slice_of(again.back()));
  }
  EXPECT_GT(known, 1000u);
  EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), again.size());
  for (void* const p : again) process_heap().deallocate(p);
  EXPECT_TRUE(process_heap().invariant());
}

// Each thread frees what the other allocates while both go on: ThreadSanitizer sees the bits of their cells.
TEST(owner_checks_of_threads, free_blocks_of_a_busy_owner) {
  constexpr std::size_t places = 64;
  std::atomic<char*> on_the_way[places] = {};
  std::atomic<bool> is_done = false;
  std::thread other([&] {
    while (!is_done)
      for (auto& place : on_the_way)
        if (char* const p = place.exchange(nullptr); p != nullptr) {
          EXPECT_EQ(p[0], 'a');
          process_heap().deallocate(p);
        }
  });
  for (unsigned i = 0; i != (ashlar_test::is_slow ? 20'000u : 200'000u); ++i) {
    const std::size_t bytes = 16 + i % 50 * 16 + (i % 1000 == 0 ? 70'000 : 0);
    auto* const p = static_cast<char*>(process_heap().try_allocate(bytes));
    std::memset(p, 'a', 16);
    char* const kept = on_the_way[i % places].exchange(p);
    process_heap().deallocate(kept);
    if (i % 5000 == 0) static_cast<void>(process_heap().trim());
  }
  is_done = true;
  other.join();
  for (auto& place : on_the_way) process_heap().deallocate(place.load());
  process_heap().flush();
  EXPECT_TRUE(process_heap().invariant());
}

// At level hardened a fork may see a cell of another thread while it is being freed or handed out.
TEST(owner_checks_of_threads, let_a_forked_child_go_on_with_the_blocks_of_a_busy_thread) {
  if constexpr (ashlar_test::has_tsan) GTEST_SKIP() << "forks of threads";
  std::vector<void*> kept(2000);
  std::atomic<int> step = 0;
  std::thread busy([&] {
    for (void*& each : kept) {
      each = process_heap().try_allocate(40);
      process_heap().deallocate(process_heap().try_allocate(40));
    }
    step = 1;
    while (step != 2) process_heap().deallocate(process_heap().try_allocate(40));
  });
  while (step != 1) std::this_thread::yield();
  for (int i = 0; i != 30; ++i)
    EXPECT_TRUE(ashlar_test::child_does([&] {
      in_other_thread([&] {  // the next thread has the blocks of the busy one
        for (void* const each : kept) process_heap().deallocate(each);
        for (void*& each : kept) each = process_heap().try_allocate(40);
      });
      return true;
    }));
  step = 2;
  busy.join();
  for (void* const each : kept) process_heap().deallocate(each);
}

}  // namespace
