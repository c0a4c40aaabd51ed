// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the registry: it finds the heap with memory at an address while others come, grow and go.
#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_registry.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/support/build.hpp"

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
