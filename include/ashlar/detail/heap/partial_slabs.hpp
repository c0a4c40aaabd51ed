// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of a size class that have free cells, the batch of cells that is being handed out, and decommitted pages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/cell_batch.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/random_bits.hpp>

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

  /// Returns: the slab of one of the cells of the first eight, each as likely (a reservoir). Expects: there is one.
  [[nodiscard]] span_header& any(std::uint64_t random) const noexcept {
    span_header* chosen = slabs;
    std::uint64_t cells = slabs->free;
    std::size_t seen = 1;
    for (span_header* next = slabs->next; next != nullptr && seen < 8; next = next->next, ++seen) {
      cells += next->free;
      random = std::rotr(random, 8);
      if (random % cells < next->free) chosen = next;
    }
    return *chosen;
  }

  /// Effects: takes the first batch, or one that `random` chooses. Returns: its slab. Expects: there is one.
  template <class Random>
  span_header& take_batch(Random& random) noexcept {
    constexpr bool is_random = std::is_same_v<Random, random_bits>;
    span_header& slab = is_random ? any(random.next()) : *slabs;
    batch = is_random ? slab_view(slab).take_batch(random.next()) : slab_view(slab).take_batch();
    cell_bytes = slab.cell_bytes;
    return slab;
  }

  /// Returns: whether the class is in use, and its cells could be foreseen. Expects: the batch is empty.
  [[nodiscard]] bool has_few_cells() const noexcept {
    std::size_t cells = 0;
    for (const span_header* slab = slabs; slab != nullptr && cells < 128; slab = slab->next) cells += slab->free;
    return cell_bytes != 0 && cells < 128;
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

/// Pages inside slabs that were decommitted, in bytes.
class dropped_pages {
public:
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns: bytes of pages that came into use again since the last call.
  [[nodiscard]] std::size_t take_refetched() noexcept { return std::exchange(refetched_, 0); }

  /// Effects: notes that a slab with `free` free cells has `bytes` bytes in such pages.
  void keep(span_header& slab, std::size_t free, std::size_t bytes) noexcept {
    bytes_ += bytes - slab.dropped_bytes;
    slab.free_when_dropped = static_cast<std::uint32_t>(free);
    slab.dropped_bytes = static_cast<std::uint32_t>(bytes);
  }
  /// Effects: notes that these pages of the slab come into use again.
  void use_again(span_header& slab) noexcept {
    refetched_ += slab.dropped_bytes;
    if (slab.dropped_bytes != 0) keep(slab, 0, 0);
  }

private:
  std::size_t bytes_ = 0;
  std::size_t refetched_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
