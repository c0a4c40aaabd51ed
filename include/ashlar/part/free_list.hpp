// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A last-in first-out list of free cells whose head is two words, so that a link is read two pops before it is needed.
#pragma once

#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Free cells, linked through their own first bytes.
///
///   first_ -> [ c0 | link to c2 ]      push(p): p.link = second, second = first, first = p
///   second_-> [ c1 | link to c3 ]      pop():   p = first, first = second, second = p.link
///
/// A plain list needs the link of the popped cell for the very next pop; here the link read belongs to the cell handed
/// out two pops later, so a cache miss on it overlaps a whole allocation.
/// Invariant: `first_ == null` implies `second_ == null`. Cells hold at least a pointer; no alignment is asked.
class free_list {
public:
  /// The fewest bytes of a cell that can be linked.
  static constexpr std::size_t link_bytes = sizeof(void*);

  [[nodiscard]] ASHLAR_INLINE bool empty() const noexcept { return first_ == nullptr; }

  ASHLAR_INLINE void push(void* cell) noexcept {
    void* second = second_;
    void* first = first_;
    ASHLAR_KEEP_SCALAR(second);
    ASHLAR_KEEP_SCALAR(first);
    write_link(cell, second);
    second_ = first;
    first_ = cell;
  }

  /// Returns: the cell pushed last. Expects: not empty.
  [[nodiscard]] ASHLAR_INLINE void* pop() noexcept {
    void* const cell = first_;
    void* second = second_;
    ASHLAR_KEEP_SCALAR(second);
    first_ = second;
    second_ = read_link(cell);
    return cell;
  }

  /// Returns: the number of cells. Complexity: O(n).
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t cells = 0;
    for (free_list rest = *this; !rest.empty(); ++cells) static_cast<void>(rest.pop());
    return cells;
  }

private:
  static ASHLAR_INLINE void write_link(void* cell, void* link) noexcept { std::memcpy(cell, &link, sizeof link); }

  [[nodiscard]] static ASHLAR_INLINE void* read_link(const void* cell) noexcept {
    void* link;
    std::memcpy(&link, cell, sizeof link);
    return link;
  }

  void* first_ = nullptr;
  void* second_ = nullptr;
};

}  // namespace ashlar::inline ASHLAR_ABI
