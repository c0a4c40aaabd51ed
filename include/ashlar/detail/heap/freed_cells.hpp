// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Freed cells that wait for the lock of their heap, beside the cells: no write to a free block reaches the list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The last freed cells of an owner at level hardened, for each of the first `Classes` size classes, on their way to
/// the quarantine, which other threads write too: one lock for `most + 1` frees. None of them is handed out meanwhile.
/// Thread safety: the owner, without the lock.
template <std::size_t Classes>
class freed_cells {
public:
  static constexpr std::size_t most = 32;  // of a class

  /// Effects: adds a cell. Returns: false, without an effect, if there are `most` of the class, or it is another one.
  [[nodiscard]] ASHLAR_INLINE bool try_add(std::size_t size_class, void* cell) noexcept {
    if (ASHLAR_UNLIKELY(size_class >= Classes)) return false;
    list& of = lists_[size_class];
    if (ASHLAR_UNLIKELY(of.count == most)) return false;
    of.cells[of.count] = cell;
    ++of.count;
    return true;
  }

  /// Effects: removes all cells of a class. Calls `begin(cell)` for one of them, `add(cell)` for each other one, which
  /// returns whether it takes the cell, `end()`, and so on with those that are left.
  /// Complexity: O(cells), as long as they are in a few groups.
  template <class Begin, class Add, class End>
  void take_groups(std::size_t size_class, Begin begin, Add add, End end) {
    if (size_class >= Classes) return;
    list& of = lists_[size_class];
    for (std::size_t passes = 0; of.count != 0; ++passes) {
      begin(of.cells[--of.count]);
      if (passes < most_passes) of.count = left_by(of, add);
      end();
    }
  }

  /// Effects: forgets all.
  void clear() noexcept {
    for (list& of : lists_) of.count = 0;
  }

private:
  struct list {
    std::size_t count = 0;
    std::array<void*, most> cells = {};
  };
  static constexpr std::size_t most_passes = 4;

  // Returns: the number of cells that `add` does not take, which are the first ones now.
  template <class Add>
  [[nodiscard]] static std::size_t left_by(list& of, Add add) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < of.count; ++i)
      if (void* const cell = of.cells[i]; !add(cell)) of.cells[left++] = cell;
    return left;
  }

  std::array<list, Classes> lists_ = {};
};

/// The same where no cell waits.
struct no_freed_cells {
  [[nodiscard]] static bool try_add(std::size_t, void*) noexcept { return false; }
  template <class... F>
  static void take_groups(std::size_t, F...) noexcept {}
  static void clear() noexcept {}
};

/// The freed cells of a heap: cells wait where its owner frees without the lock, and not on free lists.
template <class Upstream, std::size_t Classes>
using freed_cells_of = std::conditional_t<checking_level >= checking::hardened && finds_owners<Upstream>,
                                          freed_cells<Classes>, no_freed_cells>;

}  // namespace ashlar::ASHLAR_ABI::detail
