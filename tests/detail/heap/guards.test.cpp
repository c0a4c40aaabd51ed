// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of canaries, of blocks without bytes, of the window table, and of spans that wait; of calls without the lock
// around them, and of the registry of heaps: what other threads and forks meet.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_guards.hpp>
#include <ashlar/detail/heap/zero_blocks.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/latch.hpp"

namespace {

using ashlar_test::caught_in;

TEST(block_canary, every_byte_of_the_poison_counts) {
  std::array<std::byte, 5000> dead{};
  for (const std::size_t held : {1u, 7u, 16u, 64u, 72u, 128u, 511u, 512u, 519u, 4096u, 4800u}) {
    ashlar::detail::poison_block(dead.data(), held);
    const auto look = [&] { ashlar::detail::verify_poison(dead.data(), held, held, &dead); };
    EXPECT_FALSE(caught_in(look).has_value());
    for (std::size_t at = 0; at < dead.size(); ++at) {
      const std::byte was = dead[at];
      dead[at] ^= std::byte{1};
      const auto seen = caught_in(look);
      ASSERT_EQ(seen.has_value(), at < held) << at;
      dead[at] = was;
      if (!seen) continue;
      EXPECT_EQ(seen->kind, ashlar::fault::corrupt_link);
      EXPECT_EQ(seen->pointer, dead.data());
      EXPECT_EQ(seen->resource, &dead);
      EXPECT_EQ(seen->size, held);
    }
  }
}

using small_range = ashlar::detail::zero_block_range<128>;

static_assert(sizeof(small_range) == sizeof(ashlar::detail::zero_block_range<std::size_t{1} << 20>),
              "its memory is not in it");

TEST(zero_blocks, are_as_many_as_the_range_has_and_no_two_alike) {
  small_range range;
  std::set<void*> live;
  EXPECT_FALSE(range.has(&range));
  for (int i = 0; i < 128; ++i) live.insert(range.take());
  EXPECT_EQ(live.size(), 128u);
  EXPECT_EQ(live.count(nullptr), 0u);
  EXPECT_EQ(range.take(), nullptr) << "all are live";
  for (void* const p : live) {
    EXPECT_TRUE(range.has(p));
    EXPECT_TRUE(ashlar::is_aligned(p, 16));
    range.give(p, 0, &range);
  }
  EXPECT_NE(range.take(), nullptr);
}

TEST(zero_blocks, come_again_after_all_others) {
  small_range range;
  void* const first = range.take();
  range.give(first, &range);
  for (int i = 1; i < 128; ++i) {
    void* const next = range.take();
    EXPECT_NE(next, first);
    range.give(next, &range);
  }
  EXPECT_EQ(range.take(), first);
}

using ashlar::detail::span_header;
using quarantine = ashlar::detail::span_quarantine<span_header>;

struct span_quarantine : ::testing::Test {
  void put(std::size_t i, std::size_t length) {
    runs[i].length = static_cast<std::uint8_t>(length);
    waiting.put(runs[i], [&](span_header& run) { left.push_back(static_cast<std::size_t>(&run - runs.data())); });
  }

  std::vector<span_header> runs = std::vector<span_header>(200);
  std::vector<std::size_t> left;
  quarantine waiting;
};

TEST_F(span_quarantine, the_first_leaves_first_when_there_are_too_many) {
  for (std::size_t i = 0; i < 200; ++i) {
    put(i, 1);
    EXPECT_TRUE(runs[i].is_available);
    ASSERT_EQ(left.size(), i < quarantine::most_spans ? 0 : i + 1 - quarantine::most_spans);
  }
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_TRUE(left[i] == i && !runs[i].is_available);
}

TEST_F(span_quarantine, holds_no_more_slices_than_its_bound_and_one_run_of_any_length) {
  for (std::size_t i = 0; i < 40; ++i) {
    put(i, 60);
    EXPECT_LE(waiting.slices(), quarantine::most_slices);
  }
  EXPECT_EQ(waiting.slices(), 240u);
  std::size_t seen = 0;
  waiting.for_each([&](const span_header& run) { seen += run.length; });
  EXPECT_EQ(seen, 240u);
  waiting.clear([](const span_header& run) { EXPECT_FALSE(run.is_available); });
  EXPECT_EQ(waiting.slices(), 0u);
}

using ashlar::detail::window_bytes;

[[nodiscard]] const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(window_table, has_what_has_entered_and_not_left) {
  const auto table = std::make_unique<ashlar::detail::window_table>();
  constexpr std::uintptr_t start = 65 * window_bytes;
  table->enter(at(start));
  EXPECT_TRUE(table->has(at(start)) && table->has(at(start + window_bytes - 1)));
  EXPECT_FALSE(table->has(at(start - 1)) || table->has(at(start + window_bytes)) || table->has(nullptr));
  EXPECT_FALSE(table->has(at(static_cast<std::uintptr_t>(-1)))) << "beyond the table";
  table->enter(at(start + window_bytes));
  table->leave(at(start));
  EXPECT_FALSE(table->has(at(start)));
  EXPECT_TRUE(table->has(at(start + window_bytes)));
}

using guarded_pages = ashlar::basic_page_resource<ashlar::fresh::by_wish>;
using guards = ashlar::detail::span_guards<guarded_pages>;

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

TEST(guards, take_half_of_the_mappings_of_a_process_at_most) {
  if (!guards::are_kept || sizeof(void*) < 8) GTEST_SKIP() << "no guards, or too few addresses";
  const std::size_t before = mappings(), most = ashlar::detail::max_mappings();
  ashlar::local_heap<guarded_pages> heap;
  std::vector<void*> blocks(most / 2);  // of a slice each
  for (void*& p : blocks) p = heap.allocate(40'000);
  const std::size_t taken = mappings() - before;
  EXPECT_GT(taken, most / 4);
  EXPECT_LE(taken, most / 2);
}

TEST(guards, a_write_to_the_free_cell_behind_is_told_to_its_last_byte) {
  if (!guards::are_kept) GTEST_SKIP() << "free cells are not zero";
  ashlar::local_heap<guarded_pages> heap;
  std::set<std::byte*> blocks;
  for (int i = 0; i < 500; ++i) blocks.insert(static_cast<std::byte*>(heap.allocate(40)));
  const auto before = std::ranges::find_if(blocks, [&](std::byte* p) { return blocks.contains(p + 48); });
  ASSERT_NE(before, blocks.end());
  heap.deallocate(*before + 48);
  (*before)[48 + 3] = std::byte{1};
  const auto seen = caught_in([&] { heap.deallocate(*before); });
  (*before)[48 + 3] = std::byte{0};
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, ashlar::fault::overflow);
  EXPECT_EQ(seen->got, 52U);
}

using ashlar::report_scope;
using ashlar::spin_lock;
using ashlar::detail::unlocked_calls;

using ashlar_test::latch;

bool is_free(spin_lock& lock) {
  if (!lock.try_lock()) return false;
  lock.unlock();
  return true;
}

// Returns: whether the lock is free during a call.
bool is_free_in(unlocked_calls& calls, spin_lock& lock) {
  const unlocked_calls::call under_way(calls);
  return is_free(lock);
}

TEST(unlocked_calls, release_a_lock_that_is_noted_or_not) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  {
    const std::lock_guard held(lock);
    EXPECT_TRUE(is_free_in(calls, lock) && !is_free(lock));
  }
  {
    const report_scope<spin_lock> held(lock);
    EXPECT_TRUE(is_free_in(calls, lock) && !is_free(lock));
    {
      const unlocked_calls::call under_way(calls);
      const report_scope<spin_lock> again(lock);
    }
    EXPECT_FALSE(is_free(lock));
  }
  EXPECT_TRUE(is_free(lock));
}

TEST(unlocked_calls, keep_the_lock_within_a_scope) {
  unlocked_calls calls;
  spin_lock lock;
  const std::lock_guard held(lock);
  calls.share(lock);
  {
    const unlocked_calls::locked_scope around(calls);
    EXPECT_FALSE(is_free_in(calls, lock));
  }
  EXPECT_TRUE(is_free_in(calls, lock));
}

// One thread is inside a call until `may_end` is set; `f` runs meanwhile.
template <class F>
void meet(unlocked_calls& calls, spin_lock& lock, F f) {
  latch inside(1), may_end(1);
  std::thread other([&] {
    const std::lock_guard held(lock);
    const unlocked_calls::call under_way(calls);
    inside.count_down();
    may_end.wait();
  });
  inside.wait();
  f(may_end);
  other.join();
}

TEST(unlocked_calls, are_waited_for_by_a_request_that_is_refused) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](latch& may_end) {
    const std::lock_guard held(lock);
    may_end.count_down();
    EXPECT_TRUE(calls.wait_for_others());
    EXPECT_FALSE(calls.wait_for_others());
  });
}

TEST(unlocked_calls, are_waited_for_whoever_else_waits) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](latch& may_end) {
    std::atomic<int> over = 0;
    const auto request = [&] {
      const std::lock_guard held(lock);
      static_cast<void>(calls.wait_for_others());
      ++over;
    };
    std::thread one(request), two(request);
    std::thread forking([&] { calls.begin_fork(), ++over, calls.end_fork(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(over, 0);
    may_end.count_down();
    one.join(), two.join(), forking.join();
  });
}

TEST(unlocked_calls, are_not_waited_for_within_a_scope_that_keeps_the_lock) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](latch& may_end) {
    const std::lock_guard held(lock);
    const unlocked_calls::locked_scope around(calls);
    EXPECT_FALSE(calls.wait_for_others());
    may_end.count_down();
  });
}

TEST(unlocked_calls, are_over_at_a_fork_and_made_under_the_lock_up_to_its_end) {
  unlocked_calls calls;
  spin_lock lock;
  calls.share(lock);
  meet(calls, lock, [&](latch& may_end) {
    may_end.count_down();
    calls.begin_fork();
    EXPECT_FALSE(calls.wait_for_others());
    EXPECT_FALSE(is_free_in(calls, lock));
    calls.end_fork();
    const std::lock_guard held(lock);
    EXPECT_TRUE(is_free_in(calls, lock));
  });
}

using ashlar::local_heap;
using ashlar::detail::extent_at;
using ashlar::detail::heap_registry;
using ashlar::detail::page_map;
using ashlar::detail::process_heaps;
using ashlar::detail::registered_heap;
using ashlar::detail::window;
using ashlar::detail::window_bytes;

TEST(heap_registry, finds_the_innermost_or_none) {
  heap_registry registry;
  std::array<window, 8> outer_slots, inner_slots;
  page_map outer, inner;
  outer.move_to(outer_slots.data(), 8);
  inner.move_to(inner_slots.data(), 8);
  auto* const at = reinterpret_cast<std::byte*>(16 * window_bytes);
  for (std::size_t i = 0; i < 2; ++i) outer.insert(window::of(at, i, 2 * window_bytes, window_bytes, false));
  inner.insert(window::of(at + window_bytes, 0, window_bytes, window_bytes, true));
  registered_heap lines[2];
  lines[0].heap = &outer, lines[0].windows = &outer;
  lines[1].heap = &inner, lines[1].windows = &inner;
  EXPECT_EQ(registry.find(extent_at{at}), nullptr);
  registry.enter(lines[1]);
  registry.enter(lines[0]);
  EXPECT_EQ(registry.find(extent_at{at + 5}), &outer);
  EXPECT_EQ(registry.find(extent_at{at + window_bytes + 5}), &inner);
  EXPECT_EQ(registry.find(extent_at{at - 1}), nullptr);
  EXPECT_EQ(registry.find(extent_at{at + 2 * window_bytes}), nullptr);
  registry.leave(lines[1]);
  EXPECT_EQ(registry.find(extent_at{at + window_bytes + 5}), &outer);
  registry.leave(lines[0]);
  EXPECT_EQ(registry.find(extent_at{at}), nullptr);
}

TEST(heap_registry, others_look_while_a_heap_changes) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "kept from level checked on";
  local_heap<> mine;
  void* const p = mine.allocate(100);
  std::atomic<bool> is_done = false;
  std::thread changing([&] {
    for (int i = 0; i < 30; ++i) {
      local_heap<> heap;
      std::vector<void*> held;
      for (int k = 0; k < 8; ++k) held.push_back(heap.allocate(5'000'000));
      for (void* const each : held) heap.deallocate(each);
    }
    is_done = true;
  });
  while (!is_done) ASSERT_EQ(process_heaps.find(extent_at{p}), &mine);
  changing.join();
}

}  // namespace
