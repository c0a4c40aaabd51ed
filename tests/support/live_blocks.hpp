// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of a test from one resource: disjoint, aligned, and with contents that no other code changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/ledger.hpp"
#include "tests/support/pattern.hpp"

namespace ashlar_test {

/// Frees its blocks in its destructor, the last block first, so that a scenario may leave by an exception.
template <ashlar::resource R>
class live_blocks {
public:
  struct held_block {
    void* data = nullptr;
    std::size_t bytes = 0;
    std::size_t alignment = 1;
    std::uint32_t seed = 0;
  };

  explicit live_blocks(R& r) : resource_(r) {}
  live_blocks(const live_blocks&) = delete;
  live_blocks& operator=(const live_blocks&) = delete;
  ~live_blocks() { free_all(); }

  /// Returns: whether the resource had memory left, by its result or by an exception.
  bool try_allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = ashlar::try_allocate_from(resource_, bytes, alignment);
    if (p != nullptr) hold(p, bytes, alignment);
    return p != nullptr;
  }

  /// Throws: as the resource.
  void allocate(std::size_t bytes, std::size_t alignment) {
    hold(resource_.allocate(bytes, alignment), bytes, alignment);
  }

  void free(std::size_t index) {
    const held_block leaving = forget(index);
    resource_.deallocate(leaving.data, leaving.bytes, leaving.alignment);
  }

  void free_all() {
    while (!blocks_.empty()) free(blocks_.size() - 1);
  }

  /// Effects: verifies a block and forgets it. The resource keeps it.
  held_block forget(std::size_t index) {
    const held_block leaving = blocks_[index];
    std::swap(blocks_[index], blocks_.back());
    blocks_.pop_back();
    book_.remove(leaving.data, leaving.bytes, leaving.alignment);
    EXPECT_TRUE(has_pattern(leaving.data, leaving.bytes, leaving.seed)) << "somebody wrote to " << leaving.data;
    return leaving;
  }

  /// Effects: takes over a block, whose contents are overwritten.
  void hold(void* p, std::size_t bytes, std::size_t alignment) {
    book_.add(p, bytes, alignment);
    blocks_.push_back({p, bytes, alignment, ++seed_});
    write_pattern(p, bytes, seed_);
  }

  [[nodiscard]] std::size_t size() const { return blocks_.size(); }
  [[nodiscard]] const held_block& operator[](std::size_t index) const { return blocks_[index]; }
  [[nodiscard]] bool all_intact() const {
    return std::ranges::all_of(blocks_, [](const held_block& b) { return has_pattern(b.data, b.bytes, b.seed); });
  }

private:
  R& resource_;
  std::vector<held_block> blocks_;
  ledger book_;
  std::uint32_t seed_ = 0;
};

}  // namespace ashlar_test
