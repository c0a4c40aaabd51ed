// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap that finds the size of a block itself, beside a map of its live blocks and their contents.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>

#include "tests/support/pattern.hpp"

namespace ashlar_test {

/// Blocks do not overlap, and keep their contents until they are freed. A refused call must change nothing.
template <class Heap>
class walked_heap {
public:
  walked_heap(Heap& heap, unsigned seed) : heap_(heap), random_(seed) {}

  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] std::size_t refusals() const { return refusals_; }

  void allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = heap_.try_allocate(bytes, alignment);
    p != nullptr ? hold(p, bytes, alignment) : void(++refusals_);
  }

  void free_one() {
    const auto [p, b] = taken();
    below(2) == 0 ? heap_.deallocate(p) : heap_.deallocate(p, b.bytes, b.alignment);
  }
  void free_all() {
    while (size() != 0) free_one();
  }
  /// Effects: forgets all, as a release of the heap does.
  void forget() { blocks_.clear(); }

  void expand_one(std::size_t bytes) {
    const auto [p, b] = taken();
    settle(p, b, heap_.try_expand(p, b.bytes, bytes, b.alignment) ? p : nullptr, bytes);
  }
  void reallocate_one(std::size_t bytes) {
    const auto [p, b] = taken();
    settle(p, b, heap_.try_reallocate(p, bytes, b.alignment), bytes);
  }

  /// Effects: compares all live blocks of the heap, which `for_each(f)` passes to `f(p, bytes)`.
  void look_around(const auto& for_each) {
    ASSERT_TRUE(heap_.invariant());
    std::map<void*, std::size_t> seen;
    for_each([&](void* p, std::size_t bytes) { seen[p] = bytes; });
    ASSERT_EQ(seen.size(), blocks_.size());
    const std::byte* end = nullptr;
    for (const auto& [p, bytes] : seen) {
      ASSERT_TRUE(blocks_.contains(p) && bytes >= heap_.usable_size(p));
      ASSERT_LE(end, p);
      end = static_cast<std::byte*>(p) + bytes;
    }
  }

private:
  struct held {
    std::size_t bytes, alignment;
    std::uint32_t seed;
  };

  void hold(void* p, std::size_t bytes, std::size_t alignment) {
    ASSERT_TRUE(ashlar::is_aligned(p, alignment) && heap_.owns(p));
    ASSERT_GE(heap_.usable_size(p), bytes);
    const auto [at, is_new] = blocks_.emplace(p, held{bytes, alignment, static_cast<std::uint32_t>(random_())});
    ASSERT_TRUE(is_new);
    const auto above = std::next(at);
    ASSERT_TRUE(above == blocks_.end() || static_cast<std::byte*>(p) + heap_.usable_size(p) <= above->first);
    write_pattern(p, bytes, at->second.seed);
  }

  std::pair<void*, held> taken() {
    const auto at = std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(below(size())));
    const auto one = *at;
    EXPECT_TRUE(has_pattern(one.first, one.second.bytes, one.second.seed));
    blocks_.erase(at);
    return one;
  }

  void settle(void* p, const held& b, void* moved, std::size_t bytes) {
    ASSERT_TRUE(
        has_pattern(moved != nullptr ? moved : p, std::min(b.bytes, moved != nullptr ? bytes : b.bytes), b.seed));
    if (moved != nullptr) hold(moved, bytes, b.alignment);
    else blocks_.emplace(p, b);
  }

  Heap& heap_;
  std::mt19937 random_;
  std::map<void*, held> blocks_;
  std::size_t refusals_ = 0;
};

}  // namespace ashlar_test
