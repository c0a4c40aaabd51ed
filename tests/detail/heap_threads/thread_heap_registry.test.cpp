// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the thread heaps of a heap: one for each thread, found in O(1), parked and adopted, waiting for their next
// thread.
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
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/detail/heap_threads/thread_heap_registry.hpp>
#include <ashlar/detail/heap_threads/thread_heaps.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

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
std::atomic<int> clearing = 0;
bool was_served = false;

// The page is being cleared.
void on_fault(int) {
  if (::mprotect(unwritable, page_bytes, PROT_READ | PROT_WRITE) != 0) std::_Exit(2);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (clearing = 1; clearing != 2 && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
  was_served = clearing == 2;
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
    while (clearing != 1) std::this_thread::yield();
    all.deallocate(all.allocate(bytes));
    clearing = 2;
  });
  struct ::sigaction faults = {}, before = {};
  faults.sa_handler = &on_fault;
  ASSERT_EQ(::sigaction(SIGSEGV, &faults, &before), 0);
  ASSERT_EQ(::mprotect(unwritable, page_bytes, PROT_READ), 0);
  auto* const zeroed = static_cast<std::byte*>(all.allocate_zeroed(bytes));
  if (clearing == 0) clearing = 1;  // no fault: another block was reused
  other.join();
  ::sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(zeroed, dirty);
  EXPECT_TRUE(was_served);
  EXPECT_EQ(zeroed[bytes / 2], std::byte{});
}

using heaps_type = ashlar::detail::thread_heaps<ashlar::page_resource>;

TEST(thread_heaps, hand_on_what_is_parked) {
  heaps_type heaps({}, {});
  heaps_type::thread_heap* const first = heaps.adopt();
  heaps_type::thread_heap* const second = heaps.adopt();
  ASSERT_TRUE(first != nullptr && second != nullptr && first != second);
  std::size_t all = 0;
  heaps.for_each([&](heaps_type::thread_heap&) { ++all; });
  EXPECT_EQ(all, 2u);
  void* const p = first->blocks.allocate(100);
  second->freer.defer_free(first->blocks, p);
  heaps.park(*second);
  EXPECT_EQ(second->freer.noted(), 0u) << "sent as it is parked";
  heaps.park(*first);
  EXPECT_EQ(heaps.parked(), 2u);
  EXPECT_EQ(heaps.adopt(), first);
  EXPECT_EQ(heaps.adopt(), second);
  EXPECT_NE(heaps.adopt(), first);
  EXPECT_EQ(heaps.parked(), 0u);
  heaps.park(*second);
  heaps.park(*first);
  EXPECT_EQ(heaps.adopt_oldest(), second);
  EXPECT_EQ(heaps.adopt_oldest(), first);
  EXPECT_EQ(heaps.adopt_oldest(), nullptr);
}

TEST(thread_heaps, hand_on_the_one_with_most_free_memory) {
  heaps_type heaps({}, {});
  std::vector<heaps_type::thread_heap*> all;
  for (int i = 0; i < 18; ++i) all.push_back(heaps.adopt());
  const auto leave_free = [&](heaps_type::thread_heap* of, std::size_t bytes) {
    of->blocks.deallocate(of->blocks.allocate(bytes));
  };
  leave_free(all[0], 3'000'000);
  leave_free(all[3], 1'000'000);
  leave_free(all[9], 2'000'000);
  void* const lives = all[12]->blocks.allocate(2'500'000);
  for (heaps_type::thread_heap* const each : all) heaps.park(*each);
  EXPECT_EQ(heaps.adopt(), all[9]) << "a live block is not free, and the first was parked before the last sixteen";
  all[12]->blocks.give_now(lives);
  EXPECT_EQ(heaps.adopt(), all[3]) << "parked as free as that";
  EXPECT_EQ(heaps.adopt(), all[0]) << "now one of the last sixteen";
  EXPECT_EQ(heaps.adopt(), all[17]) << "the last one, of those without free memory";
}

TEST(thread_heaps, hand_on_the_one_with_most_arrivals) {
  if (ashlar_test::is_checked) GTEST_SKIP() << "nothing arrives where frees are checked";
  heaps_type heaps({}, {});
  heaps_type::thread_heap* const owner = heaps.adopt();
  heaps_type::thread_heap* const other = heaps.adopt();
  heaps_type::thread_heap* const freer = heaps.adopt();
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(owner->blocks.allocate(1000));
  heaps.park(*owner);
  heaps.park(*other);
  for (void* const p : blocks) freer->freer.defer_free(owner->blocks, p);
  freer->freer.flush();
  EXPECT_EQ(heaps.adopt(), owner);
  EXPECT_EQ(heaps.adopt(), other);
}

// Cells that were cached all over the slabs would keep each of them.
TEST(thread_heaps, sweep_what_is_cached_as_others_free_the_rest) {
  if (ashlar_test::is_checked) GTEST_SKIP() << "nothing is kept from others there";
  heaps_type heaps({.retain_bytes = 0, .decay_ms = 0}, {});
  heaps_type::thread_heap* const left = heaps.adopt();
  std::vector<void*> blocks;
  for (int i = 0; i < 40'000; ++i) blocks.push_back(left->blocks.allocate(200));
  for (std::size_t i = 0; i < blocks.size(); i += 40) left->blocks.deallocate(blocks[i]);
  heaps.park(*left);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i % 40 != 0) left->blocks.give_now(blocks[i]);
  std::size_t slabs = 0;
  left->blocks.inspect_remote(
      [&](const ashlar::heap_region& each) { slabs += each.kind == ashlar::region_kind::slab ? 1u : 0u; });
  EXPECT_LE(slabs, 1u) << "of a hundred, but for a batch";
}

TEST(thread_heaps, scavenge_what_is_parked_by_turns) {
  heaps_type heaps({}, {});
  heaps.scavenge();  // none is parked
  std::vector<heaps_type::thread_heap*> three;
  for (int i = 0; i < 3; ++i) three.push_back(heaps.adopt());
  for (heaps_type::thread_heap* const each : three) {
    each->blocks.deallocate(each->blocks.allocate(3000));
    heaps.park(*each);
    EXPECT_NE(each->blocks.held_bytes(), 0u);
  }
  for (std::size_t turn = 0; turn < 3; ++turn) {
    heaps.scavenge();
    std::size_t given = 0;
    for (heaps_type::thread_heap* const each : three) given += each->blocks.held_bytes() == 0 ? 1u : 0u;
    EXPECT_EQ(given, turn + 1);
  }
}

// A block that lives keeps its segment. The free slices beside it are purged once the heap has been parked long enough.
std::size_t resident_after_scavenging(std::uint32_t decay_ms) {
  heaps_type heaps({.decay_ms = decay_ms}, {});
  heaps_type::thread_heap* const left = heaps.adopt();
  void* const lives = left->blocks.allocate(34 * ashlar::detail::slice_bytes);  // in a whole segment
  left->blocks.deallocate(left->blocks.allocate(1'000'000));
  heaps.park(*left);
  heaps.scavenge();
  std::size_t resident = 0;
  left->blocks.inspect([&](const ashlar::heap_region& each) {
    if (each.kind == ashlar::region_kind::free || each.kind == ashlar::region_kind::spare) resident += each.bytes;
  });
  left->blocks.deallocate(lives);
  return resident;
}

TEST(thread_heaps, purge_what_has_been_parked_for_long) {
  EXPECT_GE(resident_after_scavenging(3'600'000), 1'000'000u);
  EXPECT_EQ(resident_after_scavenging(0), 0u);
}

TEST(thread_heaps, send_noted_frees_when_no_further_free_comes) {
  if (ashlar_test::is_checked) GTEST_SKIP() << "nothing is noted where frees are checked";
  heaps_type heaps({.retain_bytes = 0}, {});
  heaps_type::thread_heap* const owner = heaps.adopt();
  heaps_type::thread_heap* const other = heaps.adopt();
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(owner->blocks.allocate(100));
  for (void* const p : blocks) other->freer.defer_free(owner->blocks, p);
  EXPECT_EQ(other->freer.noted(), 50u);
  for (int i = 0; i < 4'000; ++i) static_cast<void>(other->blocks.allocate(48));
  EXPECT_EQ(other->freer.noted(), 0u) << "sent by an allocation";
  EXPECT_NE(owner->blocks.held_bytes(), 0u);
  static_cast<void>(owner->blocks.trim());
  EXPECT_EQ(owner->blocks.held_bytes(), 0u);
  for (int i = 0; i < 60; ++i) {
    other->freer.defer_free(owner->blocks, owner->blocks.allocate(100));
    static_cast<void>(other->blocks.allocate(48));
  }
  EXPECT_EQ(other->freer.noted(), 60u) << "not as long as it goes on";
  other->freer.flush();
}

// A fork may come while a heap is on its way to the list, or from it: its caches are whole.
TEST(thread_heaps, lose_nothing_in_a_child_of_what_a_thread_has_just_left) {
  heaps_type heaps({}, {});
  heaps_type::thread_heap* const left = heaps.adopt();
  std::vector<void*> blocks;
  for (int i = 0; i < 1'000; ++i) blocks.push_back(left->blocks.allocate(100));
  for (void* const p : blocks) left->blocks.deallocate(p);
  left->blocks.sharing().set_left(true);
  using step = ashlar::detail::fork_step;
  for (const step each : {step::outer_locks, step::inner_locks, step::shared_locks}) heaps.before_fork(each);
  heaps.after_fork_in_child(nullptr);
  ASSERT_EQ(heaps.adopt(), left);
  static_cast<void>(left->blocks.trim());
  EXPECT_EQ(left->blocks.held_bytes(), 0u);
}

heaps_type* reported_heaps = nullptr;

// Two threads free a cell, which is found as its owner's inbox is drained. Their report may make a heap.
TEST(thread_heaps, report_a_change_of_options_without_a_lock) {
  if (!ashlar::detail::frees_travel) GTEST_SKIP() << "the second free finds it";
  EXPECT_TRUE(ashlar_test::child_does([] {
    heaps_type heaps({}, {});
    heaps_type::thread_heap* const owner = heaps.adopt();
    void* const p = owner->blocks.allocate(100);
    for (heaps_type::thread_heap* const freer : {heaps.adopt(), heaps.adopt()}) {
      freer->freer.defer_free(owner->blocks, p);
      freer->freer.flush();
    }
    reported_heaps = &heaps;
    ashlar::set_violation_handler([](const ashlar::violation& v) noexcept {
      ::_exit(v.kind == ashlar::fault::double_free && reported_heaps->adopt() != nullptr ? 0 : 1);
    });
    heaps.set_options({});
    return false;  // nothing was found
  }));
}

TEST(thread_heaps, lose_nothing_in_a_child_where_calls_are_whole) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "what others have at hand stays taken in the child";
  heaps_type heaps({}, {});
  std::atomic<int> stage = 0;
  std::thread other([&] {
    heaps_type::thread_heap* const its = heaps.adopt();
    std::vector<void*> blocks;
    for (int i = 0; i < 1'000; ++i) blocks.push_back(its->blocks.allocate(100));
    for (void* const p : blocks) its->blocks.deallocate(p);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  using step = ashlar::detail::fork_step;
  for (const step each : {step::outer_locks, step::inner_locks, step::shared_locks}) heaps.before_fork(each);
  EXPECT_TRUE(ashlar_test::child_does([&] {
    heaps.after_fork_in_child(nullptr);
    heaps_type::thread_heap* const its = heaps.adopt();
    static_cast<void>(its->blocks.trim());
    return its->blocks.held_bytes() == 0 && its->blocks.invariant();
  }));
  heaps.after_fork_in_parent();
  stage = 2;
  other.join();
}

}  // namespace
