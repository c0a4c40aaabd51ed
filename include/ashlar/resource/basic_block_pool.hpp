// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine of the fixed-size pools: a bounded list of hot cells in front, slab bitmaps behind it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/part/free_list.hpp>
#include <ashlar/part/slab.hpp>
#include <ashlar/part/slab_geometry.hpp>
#include <ashlar/part/slab_set.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// How many cells a pool may have and keep.
struct pool_limits {
  std::size_t max_cells = max_size;  ///< live at once; the next `allocate` throws
  std::size_t spare_slabs = 1;       ///< empty slabs kept besides one for every eight in use
};

/// Equal cells out of slabs that come from `Upstream`. `Geometry{}.get()` is the `slab_geometry`, known at run time
/// (`block_pool`) or at compile time (`fixed_block_pool`).
///
///   deallocate -> [ front: hot cells, linked ] -> when cold: [ bitmaps of the slabs ] -> empty slabs -> upstream
///   allocate   <- [ front ] <- [ word: up to 64 cells of one bitmap word ] <- [ bitmaps ] <- new slab <- upstream
///
/// A cell costs its own bytes and one bit. The front takes as many cells as were handed out of words since it last
/// overflowed, and at most 64 KiB of them, none larger; when it overflows the program is freeing in bulk, so the front
/// is emptied into the bitmaps and the frees that follow set bits only: dead cells are not written, and empty slabs are
/// seen. Invariant: `live() == set.taken() - cells in word - cells in front`; `front holds granted_ - room_` cells.
///
/// Hot path: `allocate` is a load, a predictable branch, two loads and three stores.
/// Thread safety: none. Nothing is allocated before the first `allocate` or `reserve`.
template <class Geometry, resource Upstream>
class basic_block_pool : private Geometry {
public:
  constexpr basic_block_pool(const Geometry& geometry, const pool_limits& limits, Upstream upstream = {})
      : Geometry(geometry), limits_(limits), upstream_(std::move(upstream)) {}

  basic_block_pool(const basic_block_pool&) = delete;  // live cells point into it
  basic_block_pool& operator=(const basic_block_pool&) = delete;
  constexpr ~basic_block_pool() { release(); }

  /// Returns: a cell. Throws: `std::bad_alloc`, or what the upstream throws. Complexity: O(1) amortised; a cell smaller
  /// than a pointer is searched for in its slab's bitmap, O(slab_bytes / cell_bytes / 64) at worst.
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    if (void* const cell = take_ready(); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_cold();
  }

  /// Returns: a cell, or null where `max_cells` are live or the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate() noexcept {
    if (void* const cell = take_ready(); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return try_allocate_cold();
  }

  /// Effects: takes a cell back. Expects: it is live and of this pool.
  /// Complexity: O(1), but for one free in 64 KiB worth of cells, which empties the front.
  ASHLAR_INLINE void deallocate(void* cell) noexcept {
    if constexpr (checking_level >= checking::checked) check_free(cell);
    mark_free(cell, cell_bytes());
    if (ASHLAR_LIKELY(room_ != 0)) {
      --room_;
      front_.push(cell);
    } else if (ASHLAR_LIKELY(front_.empty())) {
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
    fits(bytes, alignment) ? deallocate(p) : upstream_.deallocate(p, bytes, alignment);
  }

  /// Returns: whether `p` points into a cell of this pool, live or free. Complexity: O(log slabs) expected.
  [[nodiscard]] bool owns(const void* p) const noexcept { return set_.find(geometry(), p) != nullptr; }

  [[nodiscard]] std::size_t cell_bytes() const noexcept { return geometry().cell_bytes(); }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return geometry().slab_bytes(); }
  /// Returns: the number of cells in the slabs held, at most `max_cells`.
  [[nodiscard]] std::size_t capacity() const noexcept { return std::min(set_.capacity(), limits_.max_cells); }
  /// Returns: the number of cells handed out and not taken back.
  [[nodiscard]] std::size_t live() const noexcept { return set_.taken() - in_word() - in_front(); }
  [[nodiscard]] std::size_t slabs() const noexcept { return set_.slabs(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Effects: makes `cells` live cells possible without asking the upstream, until `shrink_to_fit`.
  /// Throws: as `allocate`; what was gained so far is kept.
  void reserve(std::size_t cells) {
    std::size_t bytes = 0;
    const bool fits_memory = checked_mul(cells, cell_bytes(), bytes) && bytes <= max_block_bytes;
    if (!fits_memory || cells > limits_.max_cells) throw_bad_alloc(bytes, geometry().cell_alignment());
    while (set_.capacity() < cells) {
      add_slab(upstream_.allocate(slab_bytes(), slab_bytes()));
      reserved_ = std::max(reserved_, std::min(cells, set_.capacity()));
    }
    reserved_ = std::max(reserved_, cells);
  }

  /// Effects: gives all empty slabs back and orders the free cells by address: the lowest are handed out first.
  /// Returns: bytes given back. Complexity: O(slabs + cells in front).
  std::size_t shrink_to_fit() noexcept {
    const std::size_t before = set_.slabs();  // settling may give some back already
    reserved_ = 0;
    settle();
    while (set_.empty_slabs() != 0) give_back(set_.empty_slab());
    set_.sort();
    return (before - set_.slabs()) * slab_bytes();
  }

  /// Effects: takes all cells back, live or not, and gives all slabs back. Larger blocks stay the upstream's.
  void release() noexcept {
    set_.for_each([this](slab& each) { give_memory_back(each); });
    set_.clear();
    front_ = {};
    word_ = {};
    room_ = granted_ = 0;
    reserved_ = 0;
  }

  /// Effects: calls `f(void* cell)` for every live cell, the lowest address first.
  /// Expects: `f` neither allocates from this pool nor frees to it. Complexity: O(capacity).
  template <class F>
  void for_each_live(F f) {
    settle();
    set_.for_each([&](slab& each) {
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
    return set_.invariant() && granted_ <= front_limit() && room_ <= granted_ && front_.size() == in_front() &&
           (word_.mask == 0 || owns(word_.base)) && set_.taken() >= in_word() + in_front() &&
           live() <= limits_.max_cells;
  }

private:
  static constexpr std::size_t front_bytes = 64 * 1024;
  static constexpr std::size_t prefault_from_slabs = 8;

  [[nodiscard]] ASHLAR_INLINE constexpr const slab_geometry& geometry() const noexcept { return Geometry::get(); }

  [[nodiscard]] ASHLAR_INLINE bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= cell_bytes() && alignment <= geometry().cell_alignment() && is_power_of_two(alignment);
  }

  // Where misuse is looked for, a free cell must be known by its bit at once, so no cell rests in the front.
  [[nodiscard]] constexpr std::size_t front_limit() const noexcept {
    if (checking_level >= checking::checked || marks_memory || cell_bytes() < free_list::link_bytes) return 0;
    return front_bytes / cell_bytes();
  }

  [[nodiscard]] std::size_t in_front() const noexcept { return granted_ - room_; }
  [[nodiscard]] std::size_t in_word() const noexcept { return static_cast<std::size_t>(std::popcount(word_.mask)); }
  [[nodiscard]] static std::size_t lowest(std::uint64_t mask) noexcept {
    return static_cast<std::size_t>(std::countr_zero(mask));
  }
  [[nodiscard]] std::size_t cell_offset(std::size_t index) const noexcept { return index * cell_bytes(); }

  // A cell that is at hand, or null.
  [[nodiscard]] ASHLAR_INLINE void* take_ready() noexcept {
    if (ASHLAR_LIKELY(!front_.empty())) {
      ++room_;
      return front_.pop();
    }
    return ASHLAR_LIKELY(word_.mask != 0) ? take_from_word() : nullptr;
  }

  [[nodiscard]] ASHLAR_INLINE void* take_from_word() noexcept {
    void* const cell = word_.base + cell_offset(lowest(word_.mask));
    word_.mask &= word_.mask - 1;
    mark_live(cell, cell_bytes());
    return cell;
  }

  [[nodiscard]] ASHLAR_COLD void* allocate_cold() {
    if (set_.taken() >= limits_.max_cells) throw_bad_alloc(cell_bytes(), geometry().cell_alignment());
    if (set_.has_free()) return refill();
    add_slab(upstream_.allocate(slab_bytes(), slab_bytes()));
    return allocate();  // from the start: the upstream may have used this pool meanwhile
  }

  [[nodiscard]] ASHLAR_COLD void* try_allocate_cold() noexcept {
    if (set_.taken() >= limits_.max_cells) return nullptr;
    if (set_.has_free()) return refill();
    void* const memory = try_allocate_from(upstream_, slab_bytes(), slab_bytes());
    if (memory == nullptr) return nullptr;
    add_slab(memory);
    return try_allocate();  // from the start: the upstream may have used this pool meanwhile
  }

  // Expects: front and word are empty, some slab has a free cell, fewer than `max_cells` are live.
  [[nodiscard]] void* refill() noexcept {
    word_ = set_.take_word(geometry(), limits_.max_cells - set_.taken());
    room_ = granted_ = std::min(room_ + in_word(), front_limit());
    return take_from_word();
  }

  void add_slab(void* memory) noexcept {
    ASHLAR_EXPECTS(is_aligned(memory, slab_bytes()), "the upstream did not align a slab to its size");
    auto* const start = static_cast<std::byte*>(memory);
    if constexpr (prefaulting_resource<Upstream>)
      if (set_.slabs() >= prefault_from_slabs) upstream_.prefault(start, slab_bytes());
    std::byte* const header = geometry().header_of(start);
    std::byte* const cells = geometry().cells_of(header);
    const std::uint32_t count = geometry().capacity(start);
    set_.add(slab::format(header, this, cells, count));
    mark_free(cells, cell_offset(count));
  }

  // A bulk free begins: the front is full.
  ASHLAR_COLD void deallocate_overflowing(void* cell) noexcept {
    empty_front();
    return_cell(cell);
  }

  ASHLAR_INLINE void return_cell(void* cell) noexcept {
    if (slab* const turned = set_.give(geometry(), cell); ASHLAR_UNLIKELY(turned != nullptr)) refile(turned);
  }

  // Keeps spare slabs in proportion to those in use, so that a program at a slab's boundary does not thrash.
  ASHLAR_COLD void refile(slab* turned) noexcept {
    if (!set_.refile(turned)) return;
    const std::size_t in_use = set_.slabs() - set_.empty_slabs();
    const std::size_t spare = limits_.spare_slabs + in_use / 8;
    while (set_.empty_slabs() > spare && set_.capacity() - set_.empty_slab()->capacity >= reserved_)
      give_back(set_.empty_slab());
  }

  void empty_front() noexcept {
    while (!front_.empty()) return_cell(front_.pop());
    room_ = granted_ = 0;
  }

  // Puts every free cell into its bitmap.
  void settle() noexcept {
    empty_front();
    for (; word_.mask != 0; word_.mask &= word_.mask - 1) return_cell(word_.base + cell_offset(lowest(word_.mask)));
  }

  void give_back(slab* empty) noexcept {
    set_.remove(empty);
    give_memory_back(*empty);
  }

  void give_memory_back(slab& leaving) noexcept {
    std::byte* const start = geometry().slab_of(&leaving);
    mark_readable(start, slab_bytes());
    upstream_.deallocate(start, slab_bytes(), slab_bytes());
  }

  [[nodiscard]] ASHLAR_COLD void* allocate_upstream(std::size_t bytes, std::size_t alignment) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    return upstream_.allocate(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_COLD void* try_allocate_upstream(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    return is_valid_request(bytes, alignment) ? try_allocate_from(upstream_, bytes, alignment) : nullptr;
  }

  ASHLAR_NOINLINE void check_free(void* cell) const noexcept {
    slab* const home = set_.find(geometry(), cell);
    if (home == nullptr) report_free(fault::invalid_free, "freed a pointer that is not of this pool", cell);
    const std::uint32_t index = slab_set::index_in(geometry(), home, cell);
    if (home->cells + cell_offset(index) != cell)
      report_free(fault::misaligned_free, "freed a pointer into the middle of a cell", cell);
    if (home->is_free(index) || is_in_word(cell)) report_free(fault::double_free, "freed a cell that is free", cell);
  }

  [[nodiscard]] bool is_in_word(const void* cell) const noexcept {
    if (word_.mask == 0) return false;
    const std::uintptr_t index = (address_of(cell) - address_of(word_.base)) / cell_bytes();
    return index < 64 && ((word_.mask >> index) & 1) != 0;
  }

  [[noreturn]] ASHLAR_COLD void report_free(fault kind, const char* what, const void* cell) const noexcept {
    report({.kind = kind, .what = what, .pointer = cell, .resource = this, .size = cell_bytes()});
  }

  free_list front_;
  std::size_t room_ = 0;     // pushes the front may still take
  cell_word word_;           // cells taken from a bitmap and not handed out yet
  std::size_t granted_ = 0;  // room when the front is empty
  slab_set set_;
  std::size_t reserved_ = 0;
  pool_limits limits_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::inline ASHLAR_ABI
