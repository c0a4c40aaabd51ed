// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of thread heaps that wait for their next thread.
#include <ashlar/detail/heap_threads/thread_heaps.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

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
