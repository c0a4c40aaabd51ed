// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of one pool together with the resource they come from: when to ask for one, when to give one back.
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
#include <ashlar/part/slab.hpp>
#include <ashlar/part/slab_geometry.hpp>
#include <ashlar/part/slab_set.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Cells leave it in words and come back one by one; empty slabs go back upstream, but for some spare ones, whose
/// number is in proportion to the slabs in use, so that a program at a slab's boundary does not thrash. The owner
/// passes the same geometry to every call. Thread safety: none.
template <resource Upstream>
class slab_store {
public:
  constexpr slab_store(std::size_t spare_slabs, Upstream upstream)
      : spare_slabs_(spare_slabs), upstream_(std::move(upstream)) {}

  slab_store(const slab_store&) = delete;  // the owner's cells point into it
  slab_store& operator=(const slab_store&) = delete;

  [[nodiscard]] const slab_set& slabs() const noexcept { return set_; }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

  /// Returns: up to `most` free cells, now taken. Expects: some are free, `most > 0`.
  [[nodiscard]] cell_word take_word(const slab_geometry& geometry, std::size_t most) noexcept {
    return set_.take_word(geometry, most);
  }

  /// Effects: takes a cell back. Expects: it is taken.
  ASHLAR_INLINE void give(const slab_geometry& geometry, void* cell) noexcept {
    if (slab* const turned = set_.give(geometry, cell); ASHLAR_UNLIKELY(turned != nullptr)) refile(geometry, turned, 1);
  }

  /// Effects: takes the cells of `mask` in a word of the slab `home` back. Expects: they are taken, there is one.
  void give_word(const slab_geometry& geometry, slab* home, std::uint32_t word, std::uint64_t mask) noexcept {
    if (slab* const turned = set_.give_word(home, word, mask); turned != nullptr)
      refile(geometry, turned, static_cast<std::uint32_t>(std::popcount(mask)));
  }

  /// Returns: memory for one more slab, to be handed to `add`. Throws: what the upstream throws.
  [[nodiscard]] void* request(const slab_geometry& geometry) {
    return upstream_.allocate(geometry.slab_bytes(), geometry.slab_bytes());
  }

  /// As `request`, but null where the upstream has no memory left.
  [[nodiscard]] void* try_request(const slab_geometry& geometry) noexcept {
    return try_allocate_from(upstream_, geometry.slab_bytes(), geometry.slab_bytes());
  }

  /// Effects: makes the memory of a new slab resident where a pool of `slabs` slabs is large enough to be worth it.
  void prepare(const slab_geometry& geometry, void* memory, std::size_t slabs) noexcept {
    if constexpr (prefaulting_resource<Upstream>)
      if (slabs >= prefault_from_slabs) upstream_.prefault(memory, geometry.slab_bytes());
  }

  /// Effects: prepares `memory` and makes a slab of it, all cells free.
  void add(const slab_geometry& geometry, const void* owner, void* memory) noexcept {
    prepare(geometry, memory, set_.slabs());
    add_prepared(geometry, owner, memory);
  }

  /// Effects: makes a slab of `memory`, all cells free.
  void add_prepared(const slab_geometry& geometry, const void* owner, void* memory) noexcept {
    ASHLAR_EXPECTS(is_aligned(memory, geometry.slab_bytes()), "the upstream did not align a slab to its size");
    auto* const start = static_cast<std::byte*>(memory);
    std::byte* const header = geometry.header_of(start);
    std::byte* const cells = geometry.cells_of(header);
    const std::uint32_t count = geometry.capacity(start);
    set_.add(slab::format(header, owner, cells, count));
    mark_free(cells, count * geometry.cell_bytes());
  }

  /// Effects: holds slabs for `cells` cells, until `shrink`. Throws: what the upstream throws; keeps what was gained.
  void reserve(const slab_geometry& geometry, const void* owner, std::size_t cells) {
    while (set_.capacity() < cells) {
      add(geometry, owner, request(geometry));
      keep_for(std::min(cells, set_.capacity()));
    }
    keep_for(cells);
  }

  /// Effects: keeps slabs for `cells` cells from now on, though they be empty.
  void keep_for(std::size_t cells) noexcept { reserved_ = std::max(reserved_, cells); }

  /// Effects: forgets what was reserved, so that slabs go back as they become empty.
  void unreserve() noexcept { reserved_ = 0; }

  /// Effects: gives all empty slabs back and orders the others by address. Complexity: O(slabs).
  void shrink(const slab_geometry& geometry) noexcept {
    while (set_.empty_slabs() != 0) give_back(geometry, set_.empty_slab());
    set_.sort();
  }

  /// Effects: gives all slabs back, whatever they hold.
  void release(const slab_geometry& geometry) noexcept {
    set_.for_each([&](slab& each) { give_memory_back(geometry, each); });
    set_.clear();
    reserved_ = 0;
  }

private:
  static constexpr std::size_t prefault_from_slabs = 8;

  ASHLAR_COLD void refile(const slab_geometry& geometry, slab* turned, std::uint32_t given) noexcept {
    if (!set_.refile(turned, given)) return;
    const std::size_t in_use = set_.slabs() - set_.empty_slabs();
    const std::size_t spare = spare_slabs_ + in_use / 8;
    while (set_.empty_slabs() > spare && set_.capacity() - set_.empty_slab()->capacity >= reserved_)
      give_back(geometry, set_.empty_slab());
  }

  void give_back(const slab_geometry& geometry, slab* empty) noexcept {
    set_.remove(empty);
    give_memory_back(geometry, *empty);
  }

  void give_memory_back(const slab_geometry& geometry, slab& leaving) noexcept {
    std::byte* const start = geometry.slab_of(&leaving);
    mark_readable(start, geometry.slab_bytes());
    upstream_.deallocate(start, geometry.slab_bytes(), geometry.slab_bytes());
  }

  slab_set set_;
  std::size_t reserved_ = 0;  // cells
  std::size_t spare_slabs_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::inline ASHLAR_ABI
