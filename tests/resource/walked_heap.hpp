// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A random walk through a heap that finds the size of a block itself, beside its live blocks and their contents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/live_blocks.hpp"
#include "tests/support/pattern.hpp"

namespace ashlar_test {

/// Blocks do not overlap, and keep their contents until they are freed. A refused call must change nothing.
template <ashlar::self_describing_resource Heap>
class walked_heap {
public:
  walked_heap(Heap& heap, unsigned seed) : heap_(heap), blocks_(heap), random_(seed) {}

  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t refusals() const { return refusals_; }

  void allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = heap_.try_allocate(bytes, alignment);
    p != nullptr ? hold(p, bytes, alignment) : void(++refusals_);
  }

  void free_one() {
    const held b = taken();
    below(2) == 0 ? heap_.deallocate(b.data) : heap_.deallocate(b.data, b.bytes, b.alignment);
  }
  void free_all() {
    while (size() != 0) free_one();
  }
  /// Effects: forgets all, as a release of the heap does.
  void forget() {
    while (size() != 0) static_cast<void>(taken());
  }

  void expand_one(std::size_t bytes) {
    const held b = taken();
    settle(b, heap_.try_expand(b.data, b.bytes, bytes, b.alignment) ? b.data : nullptr, bytes);
  }
  void reallocate_one(std::size_t bytes) {
    const held b = taken();
    settle(b, heap_.try_reallocate(b.data, bytes, b.alignment), bytes);
  }

  /// Effects: compares all live blocks of the heap, which `for_each(f)` passes to `f(p, bytes)`.
  void look_around(const auto& for_each) {
    ASSERT_TRUE(heap_.invariant());
    std::map<void*, std::size_t> seen;
    for_each([&](void* p, std::size_t bytes) { seen[p] = bytes; });
    ASSERT_EQ(seen.size(), size());
    for (std::size_t i = 0; i < size(); ++i) ASSERT_TRUE(seen.contains(blocks_[i].data));
    const std::byte* end = nullptr;
    for (const auto& [p, bytes] : seen) {
      ASSERT_GE(bytes, heap_.usable_size(p));
      ASSERT_LE(end, p);
      end = static_cast<std::byte*>(p) + bytes;
    }
  }

private:
  using held = typename live_blocks<Heap>::held_block;

  void hold(void* p, std::size_t bytes, std::size_t alignment) {
    ASSERT_TRUE(heap_.owns(p));
    ASSERT_GE(heap_.usable_size(p), bytes);
    blocks_.hold(p, bytes, alignment);
  }

  [[nodiscard]] held taken() { return blocks_.forget(below(size())); }

  void settle(const held& b, void* moved, std::size_t bytes) {
    void* const p = moved != nullptr ? moved : b.data;
    ASSERT_TRUE(has_pattern(p, std::min(b.bytes, moved != nullptr ? bytes : b.bytes), b.seed));
    hold(p, moved != nullptr ? bytes : b.bytes, b.alignment);
  }

  Heap& heap_;
  live_blocks<Heap> blocks_;
  std::mt19937 random_;
  std::size_t refusals_ = 0;
};

}  // namespace ashlar_test
