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
/// Invariant: `taken_ == sum over slabs of (capacity - free)`; a slab is in `usable_` iff it has a free cell;
/// `empty_` counts the slabs with all cells free; every slab is in `all_`.
/// Thread safety: none. All operations are O(1) but where said.
class slab_set {
public:
  [[nodiscard]] bool has_free() const noexcept { return !usable_.empty(); }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }        ///< cells
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }  ///< cells
  [[nodiscard]] std::size_t slabs() const noexcept { return slabs_; }
  [[nodiscard]] std::size_t empty_slabs() const noexcept { return empty_; }

  /// Effects: adds a slab with all cells free. Complexity: O(log slabs) expected.
  void add(slab* fresh) noexcept {
    usable_.push_back(fresh);
    all_.insert(fresh);
    capacity_ += fresh->capacity;
    ++slabs_;
    ++empty_;
  }

  /// Effects: removes an empty slab. Complexity: O(log slabs) expected.
  void remove(slab* leaving) noexcept {
    usable_.erase(leaving);
    all_.erase(leaving);
    capacity_ -= leaving->capacity;
    --slabs_;
    --empty_;
  }

  /// Returns: up to `most` free cells, now taken. Expects: `has_free()`, `most > 0`.
  [[nodiscard]] cell_word take_word(const slab_geometry& geometry, std::size_t most) noexcept {
    slab* const from = usable_.front();
    if (from->free == from->capacity) --empty_;
    const slab::taken got = from->take_word(most);
    if (from->free == 0) usable_.erase(from);
    taken_ += static_cast<std::size_t>(std::popcount(got.mask));
    return {from->cells + std::size_t{got.word} * 64 * geometry.cell_bytes(), got.mask};
  }

  /// Effects: takes a cell back. Returns: its slab if that is empty now, else null. Expects: the cell is taken.
  ASHLAR_INLINE slab* give(const slab_geometry& geometry, void* cell) noexcept {
    slab* const home = slab_around(geometry, cell);
    home->set_free(index_in(geometry, home, cell));
    --taken_;
    if (ASHLAR_LIKELY(home->free != 1 && home->free != home->capacity)) return nullptr;
    return became_usable_or_empty(home);
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

  /// Effects: calls `f(slab&)` for each empty slab. `f` may remove it.
  template <class F>
  void for_each_empty(F f) {
    for (slab* each = usable_.front(); each != nullptr;) {
      slab* const next = each->next;
      if (each->free == each->capacity) f(*each);
      each = next;
    }
  }

  /// Effects: orders the slabs with free cells by address, so that the lowest are used first. Complexity: O(slabs).
  void sort_usable() noexcept {
    usable_ = {};
    all_.for_each([this](slab& each) {
      if (each.free != 0) usable_.push_back(&each);
    });
  }

  /// Effects: forgets all slabs.
  void clear() noexcept { *this = slab_set(); }

  /// Complexity: O(slabs and their words).
  [[nodiscard]] bool invariant() const noexcept {
    slab_set sum;
    std::size_t usable = 0;
    bool good = usable_.invariant() && all_.invariant();
    all_.for_each([&](const slab& each) {
      good = good && each.invariant();
      sum.capacity_ += each.capacity;
      sum.taken_ += each.capacity - each.free;
      sum.slabs_ += 1;
      sum.empty_ += each.free == each.capacity ? 1 : 0;
      usable += each.free != 0 ? 1 : 0;
    });
    for (const slab* each = usable_.front(); each != nullptr; each = each->next, --usable)
      good = good && each->free != 0;
    return good && usable == 0 && sum.capacity_ == capacity_ && sum.taken_ == taken_ && sum.slabs_ == slabs_ &&
           sum.empty_ == empty_;
  }

private:
  ASHLAR_COLD slab* became_usable_or_empty(slab* home) noexcept {
    if (home->free == 1) usable_.push_back(home);
    if (home->free != home->capacity) return nullptr;
    usable_.erase(home);  // empty slabs are used last, so that they can be given back
    usable_.push_back(home);
    ++empty_;
    return home;
  }

  list<slab> usable_;
  address_tree<slab> all_;
  std::size_t taken_ = 0;
  std::size_t capacity_ = 0;
  std::size_t slabs_ = 0;
  std::size_t empty_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
