// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine of the fixed-size pools: hot cells in front, slabs behind them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/part/hot_cells.hpp>
#include <ashlar/part/slab.hpp>
#include <ashlar/part/slab_geometry.hpp>
#include <ashlar/part/slab_set.hpp>
#include <ashlar/resource/free_check.hpp>
#include <ashlar/resource/slab_store.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// How many cells a pool may have and keep.
struct pool_limits {
  std::size_t max_cells = max_size;  ///< live at once; the next `allocate` throws
  std::size_t spare_slabs = 1;       ///< empty slabs kept besides one for every eight in use
};

/// Equal cells out of slabs that come from `Upstream`. `Geometry{}.get()` is the `slab_geometry`, known at run time
/// (`block_pool`) or at compile time (`fixed_block_pool`).
///
///   deallocate -> [ front: hot cells ] -> when cold: [ bitmaps of the slabs ] -> empty slabs -> upstream
///   allocate   <- [ front ] <- [ word: up to 64 cells of one bitmap word ] <- [ bitmaps ] <- new slab <- upstream
///
/// A cell costs its own bytes and one bit, a pool 1024 words for the addresses in its front. Front and word are
/// `hot_cells`, the rest is the `slab_store`. When the front overflows the program is freeing in bulk, so it is emptied
/// into the bitmaps and the frees that follow set bits only: empty slabs are seen. No free cell is ever written to.
/// Invariant: `live() == taken from slabs - at hand`.
///
/// Hot path: `allocate` and `deallocate` are two loads, a predictable branch and one or two stores, none to the cell.
/// Thread safety: none. Nothing is allocated before the first `allocate` or `reserve`.
template <class Geometry, resource Upstream>
class basic_block_pool : private Geometry {
public:
  constexpr basic_block_pool(const Geometry& geometry, const pool_limits& limits, Upstream upstream = {})
      : Geometry(geometry), max_cells_(limits.max_cells), store_(limits.spare_slabs, std::move(upstream)) {}

  basic_block_pool(const basic_block_pool&) = delete;  // live cells point into it
  basic_block_pool& operator=(const basic_block_pool&) = delete;
  /// Effects: as `release()`; from level `checked` on, cells that are live still are reported as a leak first.
  constexpr ~basic_block_pool() {
    if constexpr (checking_level >= checking::checked)
      if (live() != 0) report_live();
    release();
  }

  /// Returns: a cell. Throws: `std::bad_alloc`, or what the upstream throws. Complexity: O(1) amortised; a cell smaller
  /// than a pointer is searched for in its slab's bitmap, O(slab_bytes / cell_bytes / 64) at worst.
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    if (ASHLAR_LIKELY(!hot_.is_front_empty())) return hot_.pop();
    if (ASHLAR_LIKELY(!hot_.is_word_empty())) return hot_.take_from_word(cell_bytes());
    return allocate_cold();
  }

  /// Returns: a cell, or null where `max_cells` are live or the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate() noexcept {
    if (ASHLAR_LIKELY(!hot_.is_front_empty())) return hot_.pop();
    if (ASHLAR_LIKELY(!hot_.is_word_empty())) return hot_.take_from_word(cell_bytes());
    return try_allocate_cold();
  }

  /// Effects: takes a cell back. Expects: it is live and of this pool.
  /// Complexity: O(1), but for one free in 64 KiB worth of cells, which empties the front.
  ASHLAR_INLINE void deallocate(void* cell) noexcept {
    if constexpr (checking_level >= checking::checked)
      check_free({geometry(), slabs_held(), this}, cell, hot_.is_in_word(cell, cell_bytes()));
    mark_free(cell, cell_bytes());
    if (ASHLAR_LIKELY(hot_.has_room())) {
      hot_.put(cell);
    } else if (ASHLAR_LIKELY(hot_.is_front_empty())) {
      return_cell(cell);
    } else {
      deallocate_overflowing(cell);
    }
  }

  /// Returns: a cell where one is large enough, else a block of the upstream.
  /// Throws: `std::bad_alloc`, or what the upstream throws. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return fits(bytes, alignment) ? allocate() : allocate_upstream(bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`, but null where memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return fits(bytes, alignment) ? try_allocate() : try_allocate_upstream(bytes, alignment);
  }

  /// Expects: `p` was allocated with the same `bytes` and `alignment`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    fits(bytes, alignment) ? deallocate(p) : store_.upstream().deallocate(p, bytes, alignment);
  }

  /// Returns: whether `p` points into a cell of this pool, live or free. Complexity: O(log slabs) expected.
  [[nodiscard]] bool owns(const void* p) const noexcept { return slabs_held().find(geometry(), p) != nullptr; }

  [[nodiscard]] std::size_t cell_bytes() const noexcept { return geometry().cell_bytes(); }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return geometry().slab_bytes(); }
  /// Returns: the number of cells in the slabs held, at most `max_cells`.
  [[nodiscard]] std::size_t capacity() const noexcept { return std::min(slabs_held().capacity(), max_cells_); }
  /// Returns: the number of cells handed out and not taken back.
  [[nodiscard]] std::size_t live() const noexcept { return slabs_held().taken() - hot_.size(); }
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_held().slabs(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return store_.upstream(); }

  /// Effects: makes `cells` live cells possible without asking the upstream, until `shrink_to_fit`.
  /// Throws: as `allocate`; what was gained so far is kept.
  void reserve(std::size_t cells) {
    std::size_t bytes = 0;
    const bool fits_memory = checked_mul(cells, cell_bytes(), bytes) && bytes <= max_block_bytes;
    if (!fits_memory || cells > max_cells_) throw_bad_alloc(bytes, geometry().cell_alignment());
    store_.reserve(geometry(), this, cells);
  }

  /// Effects: gives all empty slabs back and orders the free cells by address: the lowest are handed out first.
  /// Returns: bytes given back. Complexity: O(slabs + cells in front).
  std::size_t shrink_to_fit() noexcept {
    const std::size_t before = slabs();  // settling may give some back already
    store_.unreserve();
    settle();
    store_.shrink(geometry());
    return (before - slabs()) * slab_bytes();
  }

  /// Effects: takes all cells back, live or not, and gives all slabs back. Larger blocks stay the upstream's.
  void release() noexcept {
    store_.release(geometry());
    hot_.clear();
  }

  /// Effects: calls `f(void* cell)` for every live cell, the lowest address first.
  /// Expects: `f` neither allocates from this pool nor frees to it. Complexity: O(capacity).
  template <class F>
  void for_each_live(F f) {
    settle();
    slabs_held().for_each([&](slab& each) {
      for (std::size_t word = 0; word < each.words(); ++word)
        for (std::uint64_t live = each.cells_in_word(word) & ~each.bits()[word]; live != 0; live &= live - 1)
          f(static_cast<void*>(each.cells + cell_offset(word * 64 + lowest(live))));
    });
  }

  [[nodiscard]] friend bool operator==(const basic_block_pool& a, const basic_block_pool& b) noexcept {
    return &a == &b;
  }

  /// Complexity: O(slabs and their words, cells in front).
  [[nodiscard]] bool invariant() const noexcept {
    const slab_set& held = slabs_held();
    return held.invariant() && hot_.invariant(cell_bytes()) && (hot_.in_word() == 0 || owns(hot_.word().base)) &&
           held.taken() >= hot_.size() && live() <= max_cells_;
  }

private:
  [[nodiscard]] ASHLAR_INLINE constexpr const slab_geometry& geometry() const noexcept { return Geometry::get(); }

  [[nodiscard]] ASHLAR_INLINE bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= cell_bytes() && alignment <= geometry().cell_alignment() && is_power_of_two(alignment);
  }

  [[nodiscard]] const slab_set& slabs_held() const noexcept { return store_.slabs(); }
  [[nodiscard]] static std::size_t lowest(std::uint64_t mask) noexcept {
    return static_cast<std::size_t>(std::countr_zero(mask));
  }
  [[nodiscard]] std::size_t cell_offset(std::size_t index) const noexcept { return index * cell_bytes(); }

  [[nodiscard]] ASHLAR_COLD void* allocate_cold() {
    if (slabs_held().taken() >= max_cells_) throw_bad_alloc(cell_bytes(), geometry().cell_alignment());
    if (slabs_held().has_free()) return refill();
    store_.add(geometry(), this, store_.request(geometry()));
    return allocate();  // from the start: the upstream may have used this pool meanwhile
  }

  [[nodiscard]] ASHLAR_COLD void* try_allocate_cold() noexcept {
    if (slabs_held().taken() >= max_cells_) return nullptr;
    if (slabs_held().has_free()) return refill();
    void* const memory = store_.try_request(geometry());
    if (memory == nullptr) return nullptr;
    store_.add(geometry(), this, memory);
    return try_allocate();  // from the start: the upstream may have used this pool meanwhile
  }

  // Expects: nothing is at hand, some slab has a free cell, fewer than `max_cells` are live.
  [[nodiscard]] void* refill() noexcept {
    return hot_.refill(store_.take_word(geometry(), max_cells_ - slabs_held().taken()), cell_bytes());
  }

  // A bulk free begins: the front is full.
  ASHLAR_COLD void deallocate_overflowing(void* cell) noexcept {
    hot_.empty_front([this](void* cold) { return_cell(cold); });
    return_cell(cell);
  }

  ASHLAR_INLINE void return_cell(void* cell) noexcept { store_.give(geometry(), cell); }

  // Puts every free cell into its bitmap.
  void settle() noexcept {
    hot_.empty(cell_bytes(), [this](void* cell) { return_cell(cell); });
  }

  [[nodiscard]] ASHLAR_COLD void* allocate_upstream(std::size_t bytes, std::size_t alignment) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    return store_.upstream().allocate(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_COLD void* try_allocate_upstream(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    return is_valid_request(bytes, alignment) ? try_allocate_from(store_.upstream(), bytes, alignment) : nullptr;
  }

  ASHLAR_COLD void report_live() noexcept {
    std::array<const void*, leaked_blocks::most_shown> first = {};
    std::size_t shown = 0;
    for_each_live([&](void* cell) {
      if (shown != first.size()) first[shown++] = cell;
    });
    report_leak({.resource = this,
                 .count = live(),
                 .block_bytes = cell_bytes(),
                 .bytes = live() * cell_bytes(),
                 .first = {first.data(), shown}});
  }

  hot_cells hot_;
  std::size_t max_cells_;
  slab_store<Upstream> store_;
};

}  // namespace ashlar::inline ASHLAR_ABI
