// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of one pool: which have free cells, which are empty, and where each lies.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/part/address_tree.hpp>
#include <ashlar/part/list.hpp>
#include <ashlar/part/slab.hpp>
#include <ashlar/part/slab_geometry.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Cells leave in words of up to 64 and come back one by one; neither writes to a cell.
/// Invariant: `taken_ == sum over slabs of (capacity - free)`; a slab is in `partial_` iff some but not all of its
/// cells are free, in `empty_` iff all are; every slab is in `all_`.
/// Thread safety: none. All operations are O(1) but where said.
class slab_set {
public:
  [[nodiscard]] bool has_free() const noexcept { return !partial_.empty() || !empty_.empty(); }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }        ///< cells
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< cells
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_; }
  [[nodiscard]] std::size_t empty_slabs() const noexcept { return empty_slabs_; }
  /// Returns: an empty slab. Expects: there is one.
  [[nodiscard]] slab* empty_slab() const noexcept { return empty_.back(); }

  /// Effects: adds a slab with all cells free. Complexity: O(log slabs) expected.
  void add(slab* fresh) noexcept {
    empty_.push_back(fresh);
    all_.insert(fresh);
    capacity_ += fresh->capacity;
    ++slabs_;
    ++empty_slabs_;
  }

  /// Effects: removes an empty slab. Complexity: O(log slabs) expected.
  void remove(slab* leaving) noexcept {
    empty_.erase(leaving);
    all_.erase(leaving);
    capacity_ -= leaving->capacity;
    --slabs_;
    --empty_slabs_;
  }

  /// Returns: up to `most` free cells, now taken; empty slabs are broken last, so that they can be given back.
  /// Expects: `has_free()`, `most > 0`.
  [[nodiscard]] cell_word take_word(const slab_geometry& geometry, std::size_t most) noexcept {
    if (partial_.empty()) break_empty();
    slab* const from = partial_.front();
    const slab::taken got = from->take_word(most);
    if (from->free == 0) partial_.erase(from);
    taken_ += static_cast<std::size_t>(std::popcount(got.mask));
    return {from->cells + std::size_t{got.word} * 64 * geometry.cell_bytes(), got.mask};
  }

  /// Effects: takes a cell back. Returns: its slab where that has changed its list by it, so that `refile` must follow
  /// before anything else; else null. Expects: the cell is taken.
  [[nodiscard]] ASHLAR_INLINE slab* give(const slab_geometry& geometry, void* cell) noexcept {
    slab* const home = slab_around(geometry, cell);
    home->set_free(index_in(geometry, home, cell));
    --taken_;
    return ASHLAR_LIKELY(home->free != 1 && home->free != home->capacity) ? nullptr : home;
  }

  /// As `give`, for all cells of `mask` in a word of `home`. Expects: they are taken, `mask` is not empty.
  [[nodiscard]] slab* give_word(slab* home, std::uint32_t word, std::uint64_t mask) noexcept {
    const bool was_full = home->free == 0;
    home->set_free(word, mask);
    taken_ -= static_cast<std::size_t>(std::popcount(mask));
    return was_full || home->free == home->capacity ? home : nullptr;
  }

  /// Effects: puts a slab of whose cells `given` were given back where it belongs now. Returns: whether it is empty.
  bool refile(slab* home, std::uint32_t given = 1) noexcept {
    const bool empty = home->free == home->capacity;
    if (home->free != given) partial_.erase(home);
    (empty ? empty_ : partial_).push_back(home);
    empty_slabs_ += empty ? 1 : 0;
    return empty;
  }

  /// Returns: the header of the slab around a cell, computed from its address alone.
  [[nodiscard]] static ASHLAR_INLINE slab* slab_around(const slab_geometry& geometry, void* cell) noexcept {
    return reinterpret_cast<slab*>(geometry.header_of(geometry.slab_of(cell)));
  }

  /// Returns: the index of the cell at `p` in the slab `home`.
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t index_in(const slab_geometry& geometry, slab* home,
                                                            const void* p) noexcept {
    return geometry.index_of(static_cast<std::size_t>(static_cast<const std::byte*>(p) - geometry.cells_of(home)));
  }

  /// Returns: the slab whose memory contains `p`, or null. Complexity: O(log slabs) expected. Reads only headers.
  [[nodiscard]] slab* find(const slab_geometry& geometry, const void* p) const noexcept {
    slab* const below = all_.find_at_or_below(p);
    if (below == nullptr || p < below->cells) return nullptr;
    return address_of(p) - address_of(below->cells) < below->capacity * geometry.cell_bytes() ? below : nullptr;
  }

  /// Effects: calls `f(slab&)` from the lowest address up.
  template <class F>
  void for_each(F f) const {
    all_.for_each(f);
  }

  /// Effects: orders the slabs by address, so that the lowest are used first. Complexity: O(slabs).
  void sort() noexcept {
    partial_ = {};
    empty_ = {};
    all_.for_each([this](slab& each) {
      if (each.free != 0) (each.free == each.capacity ? empty_ : partial_).push_back(&each);
    });
  }

  /// Effects: forgets all slabs.
  void clear() noexcept { *this = slab_set(); }

  /// Complexity: O(slabs and their words).
  [[nodiscard]] bool invariant() const noexcept {
    slab_set sum;
    std::size_t partial = 0;
    bool good = partial_.invariant() && empty_.invariant() && all_.invariant();
    all_.for_each([&](const slab& each) {
      const bool is_empty = each.free == each.capacity;
      good = good && each.invariant();
      sum.capacity_ += each.capacity;
      sum.taken_ += each.capacity - each.free;
      sum.slabs_ += 1;
      sum.empty_slabs_ += is_empty ? 1 : 0;
      partial += each.free != 0 && !is_empty ? 1 : 0;
    });
    return good && count(partial_, false) == partial && count(empty_, true) == empty_slabs_ &&
           sum.capacity_ == capacity_ && sum.taken_ == taken_ && sum.slabs_ == slabs_ &&
           sum.empty_slabs_ == empty_slabs_;
  }

private:
  // Members that belong in the list they are in.
  [[nodiscard]] static std::size_t count(const list<slab>& members, bool empty) noexcept {
    std::size_t good = 0;
    for (const slab* each = members.front(); each != nullptr; each = each->next)
      good += each->free != 0 && (each->free == each->capacity) == empty ? 1 : 0;
    return good;
  }

  ASHLAR_COLD void break_empty() noexcept {
    slab* const broken = empty_.front();
    empty_.erase(broken);
    partial_.push_back(broken);
    --empty_slabs_;
  }

  list<slab> partial_;
  list<slab> empty_;
  address_tree<slab> all_;
  std::size_t taken_ = 0;
  std::size_t capacity_ = 0;
  std::size_t slabs_ = 0;
  std::size_t empty_slabs_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
