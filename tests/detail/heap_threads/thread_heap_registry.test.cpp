// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the thread heaps of a heap: one for each thread, found in O(1), parked and adopted.
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap_threads/thread_heap_registry.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"

namespace {

using members = ashlar::detail::thread_heap_registry<ashlar::page_resource>;

static_assert(ashlar::checking_level != ashlar::checking::fast || sizeof(members::thread_heap) <= 12 * 1024,
              "the pages name the bytes of a thread's record");

struct counted_calls : ashlar::os::system_calls {
  static inline std::atomic<int> discards = 0;
  static bool discard(void* p, std::size_t bytes) noexcept { return ++discards, system_calls::discard(p, bytes); }
};
using counted_pages = ashlar::basic_page_resource<ashlar::fresh::plain, ashlar::os::basic_pages<counted_calls>>;

// Each page that went would fault in again, and no limit counts it: programs at their limit would do nothing else.
TEST(thread_heap_registry, gives_no_pages_of_segments_in_use_back_before_it_refuses) {
  ashlar::heap<counted_pages> all({.max_bytes = std::size_t{16} << 20, .decay_ms = 60'000});
  std::vector<void*> blocks;
  while (void* const p = all.try_allocate(9000)) blocks.push_back(p);
  const int before = counted_calls::discards;
  for (std::size_t i = 0; i != blocks.size(); ++i) {
    all.deallocate(blocks[i]);
    if (i % 2 != 0) continue;
    EXPECT_EQ(all.try_allocate(std::size_t{3} << 20), nullptr);
    blocks[i] = all.try_allocate(9000);
    ASSERT_NE(blocks[i], nullptr);
  }
  EXPECT_EQ(counted_calls::discards, before);
  EXPECT_TRUE(all.invariant());
}

TEST(thread_heap_registry, find_nothing_that_was_detached_and_what_was_adopted_instead) {
  members all({}, {}, nullptr);
  members::thread_heap* const left = all.find_or_attach();
  EXPECT_EQ(all.detach(), left);
  EXPECT_TRUE(all.cached() == nullptr && all.find() == nullptr && all.detach() == nullptr);
  members::thread_heap* const next = all.find_or_attach();
  EXPECT_NE(next, left);
  EXPECT_EQ(all.adopt(nullptr), nullptr);
  EXPECT_EQ(all.adopt(left), next);
  EXPECT_TRUE(all.cached() == left && all.find_or_attach() == left);
  all.park(*next);
  EXPECT_EQ(all.parked(), 1u);
}

TEST(thread_heap_registry, report_a_heap_that_ends_before_a_token) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "undefined at level fast";
  const auto end_before_token = [] {
    std::optional<ashlar::heap<>> all(std::in_place);
    static_cast<void>(all->allocate(64));
    const ashlar::heap<>::detached token = all->detach();
    all.reset();
  };
  EXPECT_DEATH(end_before_token(), "precondition: a heap ended before a token of its blocks");
}

// What waits for owners that sleep counts as retained, but for the first MiB of each; all of it is uncounted again.
TEST(thread_heap_registry, share_the_bound_of_what_waits_for_their_owners) {
  if (ashlar_test::is_checked) GTEST_SKIP() << "nothing is sent where frees are checked";
  constexpr std::size_t most = std::size_t{4} << 20, owners = 6, bytes = 1024;
  members all({.retain_bytes = most}, {}, nullptr);
  ashlar::detail::retention_limit& budget = all.space().budget();
  std::vector<void*> blocks;
  std::barrier made(owners + 1), freed(owners + 1);
  std::mutex lock;
  std::vector<std::thread> sleepers;
  for (std::size_t owner = 0; owner < owners; ++owner)
    sleepers.emplace_back([&] {
      members::thread_heap* const mine = all.find_or_attach();
      std::vector<void*> own;
      for (std::size_t i = 0; i < (std::size_t{3} << 20) / bytes; ++i) own.push_back(mine->blocks.allocate(bytes));
      {
        const std::lock_guard held(lock);
        blocks.insert(blocks.end(), own.begin(), own.end());
      }
      made.arrive_and_wait();
      freed.arrive_and_wait();
      EXPECT_TRUE(mine->blocks.has_arrivals()) << "its first MiB waits";
    });
  made.arrive_and_wait();
  const std::size_t before = budget.kept();
  for (void* const p : blocks) all.deallocate_by(p, [&](members::owner& home) { home.deallocate(p); });
  all.flush();
  EXPECT_LE(budget.kept(), most + owners * (std::size_t{1} << 20));
  EXPECT_GT(budget.kept(), before);
  freed.arrive_and_wait();
  for (std::thread& each : sleepers) each.join();
  static_cast<void>(all.trim());
  EXPECT_EQ(budget.kept(), 0u);
  EXPECT_EQ(all.space().held_bytes(), 0u);
}

TEST(thread_heap_registry, find_nothing_of_one_that_has_ended_where_another_stands) {
  std::optional<members> all(std::in_place, ashlar::heap_options{}, ashlar::page_resource{}, nullptr);
  std::barrier turn(2);
  std::thread other([&] {
    EXPECT_NE(all->find_or_attach(), nullptr);
    EXPECT_EQ(all->cached(), members::last_used());
    turn.arrive_and_wait();
    turn.arrive_and_wait();
    EXPECT_TRUE(members::last_used() == nullptr && all->cached() == nullptr && all->find() == nullptr);
    EXPECT_NE(all->find_or_attach(), nullptr);
  });
  turn.arrive_and_wait();
  all.reset();
  all.emplace(ashlar::heap_options{}, ashlar::page_resource{}, nullptr);
  EXPECT_EQ(members::last_used(), nullptr);
  EXPECT_NE(all->find_or_attach(), nullptr);  // its address may be that of the other thread's record
  turn.arrive_and_wait();
  other.join();
}

constexpr std::size_t page_bytes = 4096;
void* unwritable;
std::atomic<int> stage = 0;
bool was_served = false;

// The page is being cleared.
void on_fault(int) {
  if (::mprotect(unwritable, page_bytes, PROT_READ | PROT_WRITE) != 0) std::_Exit(2);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (stage = 1; stage != 2 && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
  was_served = stage == 2;
}

TEST(thread_heap_registry, serve_others_while_a_huge_block_is_cleared) {
  if (ashlar_test::has_tsan) GTEST_SKIP() << "what watches for races puts signals off";
  constexpr std::size_t bytes = std::size_t{5} << 20;
  ashlar::heap<> all;
  auto* const dirty = static_cast<std::byte*>(all.allocate(bytes));
  dirty[bytes / 2] = std::byte{1};
  all.deallocate(dirty);  // the extent waits for its next use with its contents
  unwritable = dirty + bytes / 2;
  std::thread other([&] {
    while (stage != 1) std::this_thread::yield();
    all.deallocate(all.allocate(bytes));
    stage = 2;
  });
  struct ::sigaction faults = {}, before = {};
  faults.sa_handler = &on_fault;
  ASSERT_EQ(::sigaction(SIGSEGV, &faults, &before), 0);
  ASSERT_EQ(::mprotect(unwritable, page_bytes, PROT_READ), 0);
  auto* const zeroed = static_cast<std::byte*>(all.allocate_zeroed(bytes));
  if (stage == 0) stage = 1;  // no fault: another block was reused
  other.join();
  ::sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(zeroed, dirty);
  EXPECT_TRUE(was_served);
  EXPECT_EQ(zeroed[bytes / 2], std::byte{});
}

TEST(thread_heap_registry, find_the_heap_of_blocks_around_the_longest_span) {
  using namespace ashlar::detail;
  ashlar::heap<> all;
  all.deallocate(all.allocate(10));  // the thread has a heap
  for (std::size_t slices = most_slices - 1; slices <= most_slices + 2; ++slices)
    for (const std::size_t bytes : {slices * slice_bytes - 1, slices * slice_bytes, slices * slice_bytes + 1}) {
      all.deallocate(all.allocate(bytes));
      void* const p = all.allocate(bytes, slice_bytes);
      EXPECT_GE(all.usable_size(p), bytes);
      all.deallocate(p, bytes, slice_bytes);
    }
  EXPECT_TRUE(all.invariant());
}

}  // namespace
