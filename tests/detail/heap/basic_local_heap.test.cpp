// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the calls from a heap to its core, and of their number.
#include <ashlar/detail/heap/basic_local_heap.hpp>

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_core.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

struct counting_core : ashlar::detail::heap_core<ashlar::page_resource> {
  using base = ashlar::detail::heap_core<ashlar::page_resource>;
  using base::base;

  [[nodiscard]] void* take_cell(std::size_t number, ashlar::detail::free_lists& lists) noexcept {
    ++taken;
    return base::take_cell(number, lists);
  }
  void give_cell(void* cell) noexcept {
    ++given;
    base::give_cell(cell);
  }

  int taken = 0, given = 0;
};

struct counting_heap : ashlar::detail::basic_local_heap<counting_core> {
  counting_heap() : basic_local_heap(ashlar::heap_options{}, ashlar::page_resource{}) {}
  using basic_local_heap::core;
};

TEST(basic_local_heap, asks_its_core_only_for_cells_that_are_not_cached) {
  counting_heap heap;
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(heap.allocate(64));
  const bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;
  const int asked = heap.core().taken;
  EXPECT_LE(asked, 1000 / 6) << asked << ": a word's cells come eight at a time";
  for (void* const p : blocks) heap.deallocate(p);
  EXPECT_TRUE(is_hardened || heap.core().given == 0) << "they are cached";
  for (void*& p : blocks) p = heap.allocate(64);
  EXPECT_TRUE(is_hardened || heap.core().taken == asked) << "so nobody is asked";
  for (void* const p : blocks) heap.deallocate(p);
  EXPECT_TRUE(heap.invariant());
}

}  // namespace
