// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A quarantine of recently freed cells: other free cells of their slab are handed out first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The last `most` freed cells of all slabs of a pool; those that are still free have a bit in their slab's `resting`
/// bitmap. A resting cell counts as free: it retains no slab, and it is handed out if no other cell is left.
///
///   add -> | newest ... oldest | -> rests no longer
///
/// Invariant: a resting cell is free. Thread safety: none.
class quarantine {
public:
  static constexpr std::size_t most = 64;  // cells

  /// Effects: puts a free cell to rest, and ends the rest of the oldest.
  ASHLAR_INLINE void add(slab* home, std::uint32_t cell) noexcept {
    place& oldest = places_[next_];
    if (ASHLAR_LIKELY(oldest.home != nullptr)) oldest.end();
    oldest = {home, &home->resting().word(cell / 64), cell};
    *oldest.word |= bit_of(cell);
    next_ = (next_ + 1) % most;
  }

  /// Effects: takes up to `wanted` free cells of a bitmap word, from those that do not rest; if all rest, the one
  /// freed first. Expects: `from` has a free cell. Complexity: O(words).
  [[nodiscard]] slab::taken take_batch(slab* from, std::size_t wanted) noexcept {
    if (const slab::taken rested = from->take_rested_word(wanted); rested.mask != 0) return rested;
    for (std::size_t age = 0; age < most; ++age) {
      place& each = places_[(next_ + age) % most];
      if (each.home == from && from->resting()[each.cell]) return from->take_cell(take(each));
    }
    return from->take_batch(wanted);
  }

  /// Effects: forgets the cells of a slab that is going away. Complexity: O(most).
  void forget(const slab* leaving) noexcept {
    for (place& each : places_)
      if (each.home == leaving) each = {};
  }

  /// Effects: ends the rest of all cells. Complexity: O(most).
  void clear() noexcept {
    for (place& each : places_) {
      const place was = std::exchange(each, {});
      if (was.home != nullptr) was.end();
    }
  }

private:
  struct place {
    slab* home = nullptr;
    std::uint64_t* word = nullptr;  // the word of the slab's `resting` with the cell's bit
    std::uint32_t cell = 0;

    ASHLAR_INLINE void end() const noexcept { *word &= ~bit_of(cell); }
  };

  [[nodiscard]] static std::uint32_t take(place& from) noexcept { return std::exchange(from, {}).cell; }

  std::array<place, most> places_ = {};
  std::size_t next_ = 0;
};

/// The counterpart below `hardened`: no bytes and no code.
struct no_quarantine {
  static void add(slab*, std::uint32_t) noexcept {}
  [[nodiscard]] static ASHLAR_INLINE slab::taken take_batch(slab* from, std::size_t wanted) noexcept {
    return from->take_batch(wanted);
  }
  static void forget(const slab*) noexcept {}
  static void clear() noexcept {}
};

using quarantine_if_hardened = std::conditional_t<has_guards, quarantine, no_quarantine>;

}  // namespace ashlar::ASHLAR_ABI::detail
