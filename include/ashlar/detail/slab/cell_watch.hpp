// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The work of level hardened on the cells of a slab as they live and die: guards, poison and their checks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Watches the cells of a slab for a pool. A cell that was never handed out is never touched.
///
///   first hand_out: guards written -> live -> poison -> hand_out: poison verified -> live -> ...
///                                      | expect_guards                 |
///                                      +--- sweep: guards of all, poison of the dead, when the slab goes or shrinks
///
/// Thread safety: none. Complexity: O(bytes of the cell), except for `sweep`.
class cell_watch {
public:
  ASHLAR_INLINE cell_watch(const slab_geometry& geometry, slab* home) noexcept : geometry_(geometry), home_(home) {}

  /// Effects: hands out a free cell. Reports writes to it since it died.
  ASHLAR_INLINE void hand_out(std::uint32_t cell) const noexcept { hand_out(cell, use(cell)); }

  /// One step of `hand_out`, the only one that touches state shared by cells. Returns: whether the cell was used
  /// before.
  ASHLAR_INLINE bool use(std::uint32_t cell) const noexcept {
    if constexpr (keeps_canaries) {
      if (ASHLAR_LIKELY(home_->used()[cell])) return true;
      begin(cell);
    }
    return false;
  }
  ASHLAR_INLINE void hand_out(std::uint32_t cell, bool was_used) const noexcept {
    if (ASHLAR_LIKELY(was_used)) expect_poison(cell);
    mark_live(at(cell), geometry_.cell_bytes());
    if constexpr (has_guards) mark_free(guard_of(cell), geometry_.guard_bytes());
  }

  /// As `hand_out`, for `length` neighbouring cells; guards inside the run belong to the run.
  void hand_out_run(std::uint32_t first, std::uint32_t length) const noexcept {
    if constexpr (has_guards)
      for (std::uint32_t cell = first; cell < first + length; ++cell) hand_out(cell);
    if constexpr (keeps_canaries) fill_guard(end_of_run(first, length), run_guard(length));
    mark_live(at(first), length * geometry_.cell_bytes());
    if constexpr (has_guards) mark_free(end_of_run(first, length), run_guard(length));
  }

  /// Effects: fills a dying cell with poison.
  ASHLAR_INLINE void poison(std::uint32_t cell) const noexcept {
    if constexpr (keeps_canaries) poison_block(at(cell), geometry_.cell_bytes());
    mark_free(at(cell), geometry_.cell_bytes());
  }

  /// As `poison`, for the cells of a run.
  void poison_run(std::uint32_t first, std::uint32_t length) const noexcept {
    if constexpr (keeps_canaries)
      for (std::uint32_t cell = first; cell < first + length; ++cell) {
        poison_block(at(cell), geometry_.cell_bytes());
        fill_guard(guard_of(cell), geometry_.guard_bytes());
      }
    mark_free(at(first), length * geometry_.cell_stride());
  }

  /// Returns: whether the guards in front of a live cell and after it are intact.
  [[nodiscard]] ASHLAR_INLINE bool are_guards_intact(std::uint32_t cell) const noexcept {
    if constexpr (!keeps_canaries) return true;
    if (ASHLAR_UNLIKELY(!home_->used()[cell])) return true;  // it came from no hand_out
    return is_canary_before(at(cell)) && is_guard_intact(guard_of(cell), geometry_.guard_bytes());
  }

  /// Effects: reports writes in front of a live cell and after it.
  ASHLAR_INLINE void expect_guards(std::uint32_t cell) const noexcept {
    if (ASHLAR_LIKELY(are_guards_intact(cell))) return;
    expect_front(cell);
    report_overflow(at(cell), geometry_.cell_bytes(), geometry_.guard_bytes());
  }

  /// As `expect_guards`, for a live run.
  void expect_guards_of_run(std::uint32_t first, std::uint32_t length) const noexcept {
    if constexpr (!keeps_canaries) return;
    expect_front(first);
    if (ASHLAR_UNLIKELY(!is_guard_intact(end_of_run(first, length), run_guard(length))))
      report_overflow(at(first), length * geometry_.cell_bytes(), run_guard(length));
  }

  /// Effects: reports writes to dead cells and to any guard. Complexity: O(bytes of dead cells, capacity).
  void sweep() const noexcept {
    if constexpr (!keeps_canaries) return;
    for (std::uint32_t cell = 0; cell < home_->capacity; ++cell)
      if (home_->used()[cell]) sweep(cell);
  }

private:
  [[nodiscard]] ASHLAR_INLINE std::byte* at(std::uint32_t cell) const noexcept {
    return home_->cells + std::size_t{cell} * geometry_.cell_stride();
  }
  [[nodiscard]] ASHLAR_INLINE std::byte* guard_of(std::uint32_t cell) const noexcept {
    return at(cell) + geometry_.cell_bytes();
  }
  [[nodiscard]] std::byte* end_of_run(std::uint32_t first, std::uint32_t length) const noexcept {
    return at(first) + length * geometry_.cell_bytes();
  }
  [[nodiscard]] std::size_t run_guard(std::uint32_t length) const noexcept { return length * geometry_.guard_bytes(); }

  ASHLAR_INLINE void expect_poison(std::uint32_t cell) const noexcept {
    verify_poison(at(cell), geometry_.cell_bytes(), geometry_.cell_bytes(), home_->owner);
  }

  // The guard of a used neighbour exists already; it is not rewritten, so that writes to it are still found.
  ASHLAR_COLD void begin(std::uint32_t cell) const noexcept {
    if (cell == 0) fill_guard(home_->cells - front_guard, front_guard);
    else if (!home_->used()[cell - 1]) fill_guard(guard_of(cell - 1), geometry_.guard_bytes());
    if (cell + 1 == home_->capacity || !home_->used()[cell + 1]) fill_guard(guard_of(cell), geometry_.guard_bytes());
    home_->used().set(cell);
  }

  // Checks the last byte in front of a cell only: bytes before it are the overflow of the previous cell, found there.
  ASHLAR_INLINE void expect_front(std::uint32_t cell) const noexcept {
    if (ASHLAR_UNLIKELY(!is_canary_before(at(cell))))
      report_write_before(at(cell), geometry_.cell_bytes(), home_->owner);
  }

  // The inner guards of a run belong to its user; without known run lengths this may hold for every live cell.
  void sweep(std::uint32_t cell) const noexcept {
    if (home_->is_free(cell)) {
      expect_poison(cell);
      mark_free(at(cell), geometry_.cell_bytes());
    } else if (home_->runs.is_unknown() || home_->runs.is_inside(cell) || home_->runs.length_at(cell) != 1) {
      return;
    }
    expect_guards(cell);
  }

  [[noreturn]] ASHLAR_COLD void report_overflow(const std::byte* p, std::size_t bytes,
                                                std::size_t guard) const noexcept {
    report_overflow_into_guard(p, bytes, guard, geometry_.cell_bytes(), home_->owner);
  }

  const slab_geometry& geometry_;
  slab* home_;
};

/// Effects: watches the bytes of a cell after a request of `bytes`: a canary at `hardened`, unaddressable for memory
/// tools. Returns: `cell`, which may be null.
[[nodiscard]] ASHLAR_INLINE void* with_slack([[maybe_unused]] const slab_geometry& geometry, void* cell,
                                             [[maybe_unused]] std::size_t bytes) noexcept {
  if constexpr (watches_slack)
    if (cell != nullptr) fill_fresh_slack(cell, bytes, geometry.cell_bytes());
  if constexpr (marks_memory)
    if (cell != nullptr) mark_free_before_others(static_cast<std::byte*>(cell) + bytes, geometry.cell_bytes() - bytes);
  return cell;
}

/// Returns: the bytes of a cell that a request of `bytes` may use.
[[nodiscard]] constexpr std::size_t usable_of_cell(const slab_geometry& geometry, std::size_t bytes) noexcept {
  return watches_slack ? bytes : geometry.cell_bytes();
}

}  // namespace ashlar::ASHLAR_ABI::detail
