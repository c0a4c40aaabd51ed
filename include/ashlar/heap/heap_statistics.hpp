// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lies in a heap: live blocks by class, runs and huge blocks, and how much is held for them.
#pragma once

#include <array>
#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/part/segment.hpp>
#include <ashlar/part/size_classes.hpp>
#include <ashlar/part/window_map.hpp>

namespace ashlar::inline ASHLAR_ABI {

struct block_sum {
  std::size_t blocks = 0;  ///< live
  std::size_t bytes = 0;   ///< of these, all that their callers may use

  void add(std::size_t size) noexcept { ++blocks, bytes += size; }
};

struct heap_statistics {
  std::array<block_sum, size_classes::count + 1> of_class = {};  ///< by number; none has 0
  block_sum runs;                                                ///< blocks of whole slices
  block_sum huge;                                                ///< blocks of the upstream's own
  block_sum all;
  std::size_t held_bytes = 0;  ///< of the upstream; not all of it need be resident

  /// Returns: bytes held that no block has: free cells and slices, and what the heap knows of them.
  [[nodiscard]] std::size_t spare_bytes() const noexcept { return held_bytes - all.bytes; }
};

/// Returns: what `heap` holds now. Effects: its hot cells go back to their slabs, as by `visit`.
/// Complexity: O(slabs, live blocks and free cells).
template <class Heap>
[[nodiscard]] heap_statistics statistics_of(Heap& heap) {
  heap_statistics sums;
  heap.visit([&](const void* p, std::size_t bytes) {
    sums.all.add(bytes);
    if (is_aligned(p, window_bytes)) sums.huge.add(bytes);
    else if (bytes > size_classes::largest) sums.runs.add(bytes);
    else sums.of_class[size_classes::of(bytes)].add(bytes);
  });
  sums.held_bytes = heap.held_bytes();
  return sums;
}

}  // namespace ashlar::inline ASHLAR_ABI
