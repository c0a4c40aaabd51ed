// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Free lists with two known top cells: a link is loaded two pops before its use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// `Count` free lists of cells. A cell has at least one word, or two at level `checked`. The link in a cell points to
/// the second cell below it:
///
///       top    next   link(top)   link(next)   link(link(top)) …
///       s0     s1     s2          s3           s4
///
/// A pop of a plain list waits for the load of the previous link; here that load has the time of one more pop. Tops and
/// nexts lie in separate arrays: compilers move two neighbouring words as one vector, and the next load then stalls
/// until that store has left the store buffer. Thread safety: none. Never allocates.
template <std::size_t Count>
class pair_stacks {
public:
  [[nodiscard]] ASHLAR_INLINE bool is_empty(std::size_t stack) const noexcept { return top_[stack] == nullptr; }

  ASHLAR_INLINE void push(std::size_t stack, void* cell) noexcept {
    void* const top = top_[stack];
    mark_readable(cell, link_bytes);
    *static_cast<void**>(cell) = next_[stack];
    if constexpr (seals_links) static_cast<std::uintptr_t*>(cell)[1] = seal(cell, address_of(next_[stack]));
    mark_free(cell, link_bytes);
    next_[stack] = top;
    top_[stack] = cell;
  }

  /// Returns: the cell pushed last, or null. Its first word still holds the link.
  [[nodiscard]] ASHLAR_INLINE void* pop(std::size_t stack) noexcept {
    void* const cell = top_[stack];
    if (ASHLAR_LIKELY(cell != nullptr)) pop_top(stack, cell);
    return cell;
  }

  /// Returns: the cell pushed last, or null, without removing it.
  [[nodiscard]] ASHLAR_INLINE void* top_of(std::size_t stack) const noexcept { return top_[stack]; }

  /// Returns: whether the link of a listed cell is the one that `push` stored; true if links have no seal.
  [[nodiscard]] static ASHLAR_INLINE bool is_sound(const void* cell) noexcept {
    if constexpr (!seals_links) return true;
    mark_readable(cell, link_bytes);
    void* const link = *static_cast<void* const*>(cell);
    return static_cast<const std::uintptr_t*>(cell)[1] == seal(cell, address_of(link));
  }

  /// As `pop`. Expects: `cell` is the top.
  ASHLAR_INLINE void pop_top(std::size_t stack, void* cell) noexcept {
    mark_readable(cell, sizeof(void*));
    top_[stack] = next_[stack];
    next_[stack] = *static_cast<void**>(cell);
  }

  /// Returns: the cell below the top, or null.
  [[nodiscard]] void* next_of(std::size_t stack) const noexcept { return next_[stack]; }

  /// Effects: calls `f(cell)` from the top down. Complexity: O(cells).
  template <class F>
  void for_each(std::size_t stack, F f) const {
    void* cell = top_[stack];
    void* next = next_[stack];
    while (cell != nullptr) {
      mark_readable(cell, sizeof(void*));
      void* const below = *static_cast<void**>(cell);
      mark_free(cell, sizeof(void*));
      f(cell);
      cell = next;
      next = below;
    }
  }

  /// Effects: forgets all cells.
  void clear() noexcept { top_ = next_ = {}; }

  /// The bytes of a link, which at level `checked` has a seal after it.
  static constexpr bool seals_links = checking_level == checking::checked;
  static constexpr std::size_t link_bytes = sizeof(void*) * (seals_links ? 2 : 1);

private:
  // The seal depends on the address, so that a link copied from another cell is invalid.
  [[nodiscard]] static ASHLAR_INLINE std::uintptr_t seal(const void* cell, std::uintptr_t link) noexcept {
    return ~(link ^ address_of(cell));
  }

  std::array<void*, Count> top_ = {};
  std::array<void*, Count> next_ = {};
};

/// A free list for each size class; list 0 stays empty.
using free_lists = pair_stacks<size_classes::count + 1>;

}  // namespace ashlar::ASHLAR_ABI::detail
