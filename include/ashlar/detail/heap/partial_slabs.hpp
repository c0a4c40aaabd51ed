// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of a size class that have free cells, and the batch of cells that is being handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/cell_batch.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The requested sizes of the cells of a batch, which saves a look-up of the slab.
struct sizes_of_batch {
  atomic<std::uint16_t>* first = nullptr;
  void begin_at(atomic<std::uint16_t>* size) noexcept { first = size; }
  [[nodiscard]] ASHLAR_INLINE atomic<std::uint16_t>* of(std::size_t place) const noexcept { return first + place; }
};
/// The same below level `hardened`.
struct no_sizes_of_batch {
  static void begin_at(atomic<std::uint16_t>*) noexcept {}
  [[nodiscard]] static atomic<std::uint16_t>* of(std::size_t) noexcept { return nullptr; }
};

/// A list through the slabs, the last one added in front. Invariant: `is_available` marks those in the list. Thread
/// safety: none.
struct partial_slabs {
  cell_batch batch;
  std::size_t cell_bytes = 0;
  span_header* slabs = nullptr;  ///< slabs with a set bit
  ASHLAR_NO_UNIQUE_ADDRESS std::conditional_t<segment::requested_sizes::is_kept, sizes_of_batch, no_sizes_of_batch>
      sizes;

  /// Returns: a cell of the batch that `random` chooses. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE sized_cell take_any(std::uint64_t random) noexcept {
    const std::size_t place = batch.take_any(random);
    return {batch.base + place * cell_bytes, cell_bytes, sizes.of(place)};
  }

  void add(span_header& slab) noexcept {
    slab.previous = nullptr;
    slab.next = slabs;
    if (slabs != nullptr) slabs->previous = &slab;
    slabs = &slab;
    slab.is_available = true;
  }

  void remove(span_header& slab) noexcept {
    (slab.previous != nullptr ? slab.previous->next : slabs) = slab.next;
    if (slab.next != nullptr) slab.next->previous = slab.previous;
    slab.is_available = false;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
