// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the registry: it finds the heap with memory at an address while others come, grow and go.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/block.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>

#include "tests/support/build.hpp"
#include "tests/support/child.hpp"

namespace {

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

TEST(heap_registry, heaps_are_in_it_from_their_first_block_to_their_end) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "kept from level checked on";
  void* p = nullptr;
  {
    local_heap<> heap, other;
    p = heap.allocate(5'000'000);
    EXPECT_EQ(process_heaps.find(extent_at{p}), &heap);
    EXPECT_EQ(process_heaps.find(extent_at{other.allocate(1)}), &other);
    heap.release();
    EXPECT_EQ(process_heaps.find(extent_at{p}), nullptr);
    p = heap.allocate(24);
    EXPECT_TRUE(ashlar_test::child_does([&] { return process_heaps.find(extent_at{p}) == &heap; }));
  }
  EXPECT_EQ(process_heaps.find(extent_at{p}), nullptr);
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

// A report ends the process with status 7 if it names `all` and `owner`, else with 8.
void expect_named(const void* all, const void* owner) {
  static const void *named, *beside;
  named = all, beside = owner;
  ashlar::set_violation_handler([](const ashlar::violation& found) noexcept {
    std::_Exit(found.resource == named && found.owner == beside ? 7 : 8);
  });
}

TEST(heap_registry, a_heap_of_several_threads_has_one_name) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "kept from level checked on";
  ashlar::heap<> all, other;
  void *small = nullptr, *run = nullptr;
  std::thread([&] { small = all.allocate(100), run = all.allocate(100'000); }).join();
  void* const huge = all.allocate(9'000'000);
  for (void* const p : {small, run, huge, all.allocate(20)}) EXPECT_EQ(process_heaps.find(extent_at{p}), &all);
  const auto ends = ::testing::ExitedWithCode(7);
  const auto with = [](const void* name, const void* owner, auto&& f) { expect_named(name, owner), f(); };
  int local = 0;
  for (void* const p : {small, run, huge}) {
    EXPECT_EXIT(with(&other, &all, [&] { other.deallocate(p); }), ends, "");
    EXPECT_EXIT(with(&all, nullptr, [&] { all.deallocate(p), all.deallocate(p); }), ends, "");
    EXPECT_EXIT(with(&all, nullptr, [&] { all.deallocate(static_cast<std::byte*>(p) + 16); }), ends, "");
  }
  EXPECT_EXIT(with(&all, nullptr, [&] { all.deallocate(&local); }), ends, "");
  local_heap<> single;
  EXPECT_EXIT(with(&single, &all, [&] { single.deallocate(small); }), ends, "");
  EXPECT_EXIT(with(&all, &single, [&] { all.deallocate(single.allocate(1)); }), ends, "");
  ashlar::owner_heap<> alone;
  EXPECT_EXIT(with(&all, &alone, [&] { all.deallocate(alone.allocate(1)); }), ends, "");
  EXPECT_EXIT(with(&alone, &all, [&] { alone.deallocate(small); }), ends, "");
  for (void* const p : {small, run, huge}) all.deallocate(p);
}

TEST(heap_registry, a_cached_segment_is_no_block) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "kept from level checked on";
  ashlar::heap<> all;
  void* p = nullptr;
  std::thread([&] { all.deallocate(p = all.allocate(3'000'000)); }).join();  // of a whole segment
  void* const huge = all.allocate(6'000'000);  // the parked heap gives its free memory up for it
  EXPECT_FALSE(all.owns(p));
  EXPECT_EXIT((expect_named(&all, nullptr), all.deallocate(p)), ::testing::ExitedWithCode(7), "");
  all.deallocate(huge);
}

}  // namespace
