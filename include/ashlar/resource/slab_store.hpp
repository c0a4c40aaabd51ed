// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slabs of one pool together with the resource they come from: when to ask for one, when to give one back.
#pragma once

#include <algorithm>
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
#include <ashlar/resource/spare_policy.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Cells leave it in words or runs and come back one by one; empty slabs go back upstream, but for as many as the
/// `spare_policy` keeps, so that a program at a slab's boundary does not thrash. The owner passes the same geometry to
/// every call. Thread safety: none.
template <resource Upstream>
class slab_store {
public:
  constexpr slab_store(spare_policy spare, Upstream upstream) : spare_(spare), upstream_(std::move(upstream)) {}

  slab_store(const slab_store&) = delete;  // the owner's cells point into it
  slab_store& operator=(const slab_store&) = delete;

  [[nodiscard]] const slab_set& slabs() const noexcept { return set_; }
  [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }

  /// Returns: up to `most` free cells, now taken. Expects: some are free, `most > 0`.
  [[nodiscard]] cell_word take_word(const slab_geometry& geometry, std::size_t most) noexcept {
    return set_.take_word(geometry, most);
  }

  /// Returns: a run of neighbouring cells, now taken, or no cells where a fresh slab is needed. See `slab_set`.
  [[nodiscard]] cell_word take_run(const slab_geometry& geometry, std::size_t cells) noexcept {
    return set_.take_run(geometry, cells);
  }

  /// Effects: takes a cell back. Expects: it is taken.
  ASHLAR_INLINE void give(const slab_geometry& geometry, void* cell) noexcept {
    if (slab* const turned = set_.give(geometry, cell); ASHLAR_UNLIKELY(turned != nullptr)) refile(geometry, turned);
  }

  /// Effects: takes the cells of `mask` in a word of the slab `home` back. Expects: they are taken, there is one.
  void give_word(const slab_geometry& geometry, slab* home, std::uint32_t word, std::uint64_t mask) noexcept {
    if (slab* const turned = set_.give_word(home, word, mask); turned != nullptr) refile(geometry, turned);
  }

  /// Returns: memory for one more slab, to be handed to `add`. Throws: what the upstream throws.
  [[nodiscard]] void* request(const slab_geometry& geometry) {
    return upstream_.allocate(geometry.slab_bytes(), geometry.slab_bytes());
  }

  /// As `request`, but null where the upstream has no memory left.
  [[nodiscard]] void* try_request(const slab_geometry& geometry) noexcept {
    return try_allocate_from(upstream_, geometry.slab_bytes(), geometry.slab_bytes());
  }

  /// Effects: makes the first pages of a new slab resident at once, as many as a pool of `slabs` slabs has 128 times:
  /// so little may stay unused. Nothing where that is too little to be worth a call.
  void prepare(const slab_geometry& geometry, void* memory, std::size_t slabs) noexcept {
    if constexpr (prefaulting_resource<Upstream>) {
      const std::size_t bytes = std::min(slabs, std::size_t{128}) * (geometry.slab_bytes() / 128);
      if (bytes >= least_prefault) upstream_.prefault(memory, bytes);
    }
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
    slab* const made = slab::format(header, owner, cells, count);
    made->registration.enter(owner, cells, count * geometry.cell_bytes(), geometry.cell_bytes());
    set_.add(made);
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

  /// Effects: keeps empty slabs as `spare` says from now on. Complexity: O(slabs given back).
  void keep(const slab_geometry& geometry, spare_policy spare) noexcept {
    spare_ = spare;
    trim(geometry);
  }

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
  static constexpr std::size_t least_prefault = 64 * 1024;

  ASHLAR_COLD void refile(const slab_geometry& geometry, slab* turned) noexcept {
    if (!set_.refile(turned)) return;
    if (is_too_many(*turned)) give_back(geometry, turned);  // the lower ones are kept
    trim(geometry);
  }

  void trim(const slab_geometry& geometry) noexcept {
    while (set_.empty_slabs() != 0 && is_too_many(*set_.empty_slab())) give_back(geometry, set_.empty_slab());
  }

  // Expects: `empty` is.
  [[nodiscard]] bool is_too_many(const slab& empty) const noexcept {
    return set_.empty_slabs() > spare_.kept(set_.slabs() - set_.empty_slabs()) &&
           set_.capacity() - empty.capacity >= reserved_;
  }

  void give_back(const slab_geometry& geometry, slab* empty) noexcept {
    set_.remove(empty);
    give_memory_back(geometry, *empty);
  }

  void give_memory_back(const slab_geometry& geometry, slab& leaving) noexcept {
    std::byte* const start = geometry.slab_of(&leaving);
    leaving.registration.leave();
    mark_readable(start, geometry.slab_bytes());
    upstream_.deallocate(start, geometry.slab_bytes(), geometry.slab_bytes());
  }

  slab_set set_;
  std::size_t reserved_ = 0;  // cells
  spare_policy spare_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::inline ASHLAR_ABI
