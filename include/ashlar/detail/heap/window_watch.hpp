// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guards of a window's cells at level hardened: requested sizes, canaries, poison in free cells.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/watched_slack.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_windows.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Guards the cells of a window for a heap. The requested sizes stand in the window's record, two bytes for each cell:
///
///     never used -> hand_out: writes canary -> live -> poison: fills cell -> hand_out: verifies poison -> live -> ...
///                                               | expect_intact: verifies canary
///                                               +--- sweep: verifies canaries of live cells and poison of free ones,
///                                                    before the window or the heap ends
///
/// An empty request counts as one byte. All calls expect level hardened. Thread safety: none. Complexity: O(bytes of
/// the cell), except `sweep`.
class window_watch {
public:
  window_watch(cell_window& home, const void* heap) noexcept : home_(home), heap_(heap) {}

  /// Returns: the requested bytes of a live cell.
  [[nodiscard]] std::size_t size_of(const void* cell) const noexcept { return sizes()[home_.index_of(cell)]; }

  /// Effects: hands a free cell out. Reports a write to it since its free.
  void hand_out(std::byte* cell, std::size_t bytes) const noexcept {
    if constexpr (keeps_canaries)
      if (size_of(cell) == dead_cell) verify_poison(cell, home_.cell_bytes, home_.cell_bytes, heap_);
    resize(cell, 0, bytes);
  }

  /// Effects: sets the size of a live cell to `bytes`; its first `were` bytes have contents.
  void resize(void* cell, std::size_t were, std::size_t bytes) const noexcept {
    const std::size_t kept = at_least_one_byte(bytes);
    sizes()[home_.index_of(cell)] = static_cast<std::uint16_t>(kept);
    write_canary(cell, kept, home_.cell_bytes);
    mark_block(cell, were, kept, home_.cell_bytes);
  }

  /// Effects: poisons a freed cell. Expects: it is intact.
  void poison(void* cell) const noexcept {
    if constexpr (keeps_canaries) poison_block(cell, home_.cell_bytes);
    sizes()[home_.index_of(cell)] = keeps_canaries ? dead_cell : never_used;
    mark_free(cell, home_.cell_bytes);
  }

  /// Effects: reports writes after a live cell, or in front of it.
  void expect_intact(const void* cell) const noexcept {
    if constexpr (!keeps_canaries) return;
    const std::size_t bytes = size_of(cell);
    expect_canary(cell, bytes, home_.cell_bytes, heap_);
    if (!is_front_intact(cell)) report_write_before(cell, bytes, heap_);
  }

  /// Effects: reports writes to free cells, and after live ones. Complexity: O(bytes of the window).
  void sweep() const noexcept {
    for (std::uint32_t index = 0; keeps_canaries && index < home_.capacity; ++index) sweep(index);
  }

private:
  [[nodiscard]] std::uint16_t* sizes() const noexcept { return home_.requested.of_cells(); }

  void sweep(std::uint32_t index) const noexcept {
    const std::byte* const cell = home_.cell(index);
    const std::size_t bytes = sizes()[index];
    if (bytes == never_used) return;
    if (bytes != dead_cell) return expect_canary(cell, bytes, home_.cell_bytes, heap_);
    verify_poison(cell, home_.cell_bytes, home_.cell_bytes, heap_);
    mark_free(cell, home_.cell_bytes);
  }

  // The byte before a cell is the canary of a live cell or the poison of a free one: cells are first used in order of
  // addresses, so no cell that was never used precedes a used one. A header of TLSF precedes a window.
  [[nodiscard]] bool is_front_intact(const void* cell) const noexcept {
    const std::uint32_t index = home_.index_of(cell);
    return index == 0 || is_guard_before(cell, sizes()[index - 1]);
  }

  cell_window& home_;
  const void* heap_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
