// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free of a pool at the levels that check: an inlined fast path for valid frees, and the checks one by one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slab/cell_watch.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The longest run inside a slab, in cells: one bitmap word.
inline constexpr std::size_t longest_run = 64;

/// Returns: the number of cells for a run of `n`: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, ... At most a third is
/// unused.
/// `run_length(m) == run_length(n)` for all `m` from `n` to `run_length(n)`. Expects: `n <= longest_run`.
[[nodiscard]] constexpr std::size_t run_length(std::size_t n) noexcept {
  if (n <= 1) return 1;
  const std::size_t whole = std::bit_ceil(n);
  const std::size_t three_quarters = whole / 2 + whole / 4;
  return n <= three_quarters ? three_quarters : whole;
}

/// Returns: whether a run of `n` fits a slab of `capacity` cells; longer ones come from the upstream.
[[nodiscard]] constexpr bool is_run_of_slab(std::size_t n, std::size_t capacity) noexcept {
  return n <= longest_run && run_length(n) <= capacity;
}

/// The pool that a cell is freed to. The cells of `batch` are free, although their bits are clear.
struct free_site {
  const slab_geometry& geometry;
  const slab_set& slabs;
  const void* pool;
  cell_batch batch = {};
};

/// The bytes of a free without a size.
inline constexpr std::size_t unsized = max_size;

/// Size and alignment given with a free.
struct freed_extent {
  std::size_t bytes = 0;
  std::size_t alignment = 0;
};

[[noreturn]] ASHLAR_COLD inline void report_free(fault kind, const char* what, const void* cell,
                                                 const free_site& site) noexcept {
  report({.kind = kind, .what = what, .pointer = cell, .resource = site.pool, .size = site.geometry.cell_bytes()});
}

[[noreturn]] ASHLAR_COLD inline void report_size(const char* what, const void* p, const free_site& site,
                                                 std::size_t expected, std::size_t got) noexcept {
  report({.kind = fault::size_mismatch,
          .what = what,
          .pointer = p,
          .resource = site.pool,
          .expected = expected,
          .got = got,
          .block_bytes = site.geometry.cell_bytes()});
}

/// Effects: reports a free of an address that is not a cell of the pool. `p` is not read, so any value is valid.
[[noreturn]] ASHLAR_COLD inline void report_foreign(const void* p, const free_site& site) noexcept {
  const cell_place place = process_slabs.find(p);
  if (place.owner == nullptr) report_free(fault::invalid_free, "freed a pointer that is not of this pool", p, site);
  report({.kind = fault::wrong_pool,
          .what = "freed a cell of another pool",
          .pointer = p,
          .resource = site.pool,
          .owner = place.owner,
          .size = place.cell_bytes});
}

// Returns: whether the pool holds a free cell outside its bitmap.
[[nodiscard]] ASHLAR_INLINE bool is_in_batch(const free_site& site, const slab* home, std::uint32_t index) noexcept {
  if ((site.batch.mask & bit_of(index)) == 0) return false;
  return site.batch.base == home->cells + std::size_t{index - index % 64} * site.geometry.cell_stride();
}

/// Returns: the live cell that starts at `p`, if its slab is in the map; else none, and `check_free` determines the
/// kind of misuse. `p` is not read.
[[nodiscard]] ASHLAR_INLINE located_cell find_live(const free_site& site, const void* p) noexcept {
  slab* const home = site.slabs.find_remembered(site.geometry, p);
  if (ASHLAR_UNLIKELY(home == nullptr)) return {};
  const std::size_t offset = address_of(p) - address_of(home->cells);
  const std::uint32_t index = site.geometry.index_of(offset);  // an arbitrary number outside the cells of the slab
  if (ASHLAR_UNLIKELY(std::size_t{index} * site.geometry.cell_stride() != offset)) return {};
  if (ASHLAR_UNLIKELY(index >= home->capacity || home->is_free(index) || is_in_batch(site, home, index))) return {};
  return {home, index};
}

/// Returns: the index of a live cell in its slab `home`.
/// Effects: reports any address other than the start of a live cell or run.
[[nodiscard]] inline std::uint32_t check_live(const free_site& site, slab* home, const void* cell) noexcept {
  const std::uint32_t index = site.geometry.index_of(address_of(cell) - address_of(home->cells));
  if (home->cells + std::size_t{index} * site.geometry.cell_stride() != cell)
    report_free(fault::misaligned_free, "freed a pointer into the middle of a cell", cell, site);
  if (home->is_free(index) || is_in_batch(site, home, index))
    report_free(fault::double_free, "freed a cell that is free", cell, site);
  if (home->runs.is_inside(index))
    report_free(fault::misaligned_free, "freed a pointer into the middle of a run", cell, site);
  return index;
}

[[noreturn]] ASHLAR_COLD inline void report_length(const void* run, const free_site& site, std::size_t expected,
                                                   std::size_t got) noexcept {
  report_size("freed a run with another length than it was allocated with", run, site, expected, got);
}

// As `check_live`, for a cell that is not a run.
[[nodiscard]] inline std::uint32_t check_single(const free_site& site, slab* home, const void* cell) noexcept {
  const std::uint32_t index = check_live(site, home, cell);
  const std::size_t length = home->runs.length_at(index);
  if (ASHLAR_UNLIKELY(length != 1)) report_length(cell, site, length, 1);
  return index;
}

// The block may lie in a larger cell of another pool, if the upstream is one.
inline void check_not_in_smaller(const free_site& site, const void* p, const freed_extent& given) noexcept {
  const cell_place place = process_slabs.find(p);
  if (place.owner != nullptr && given.bytes > place.cell_bytes) report_foreign(p, site);
}

/// Effects: reports a free of a block that no cell can hold if `p` points into a cell. A cell of this pool is reported
/// at every level, since it must not reach the upstream; from `checked` on, so is a cell of another pool with smaller
/// cells. `p` is not read. Complexity: expected O(log slabs).
ASHLAR_COLD inline void check_larger_free(const free_site& site, const void* p, const freed_extent& given) noexcept {
  if (site.slabs.find(site.geometry, p) == nullptr) {
    if constexpr (checking_level >= checking::checked) check_not_in_smaller(site, p, given);
    return;
  }
  const std::size_t cell_bytes = site.geometry.cell_bytes();
  if (given.bytes > cell_bytes) report_size("freed a cell with the size of a larger block", p, site, 0, given.bytes);
  report_size("freed a cell with an alignment that no cell has", p, site, site.geometry.cell_alignment(),
              given.alignment);
}

/// Effects: reports a free of an address in no slab of the pool, without a size or with the size of a cell. With a
/// size, the upstream may be asked whether it owns the block. `p` is not read.
template <resource Upstream>
[[noreturn]] ASHLAR_COLD void report_unheld(const free_site& site, const Upstream& upstream, const void* p,
                                            std::size_t bytes = unsized) noexcept {
  if constexpr (owning_resource<Upstream>)
    if (bytes != unsized && process_slabs.find(p).owner == nullptr && upstream.owns(p))
      report({.kind = fault::size_mismatch,
              .what = "freed a larger block with the size of a cell",
              .pointer = p,
              .resource = site.pool,
              .size = bytes});
  report_foreign(p, site);
}

/// Returns: whether the canary after a cell's `bytes` bytes is intact, at the level that has one.
[[nodiscard]] ASHLAR_INLINE bool is_slack_of_cell_intact(const free_site& site, const void* p,
                                                         std::size_t bytes) noexcept {
  if (!watches_slack || bytes == unsized) return true;
  mark_readable(p, site.geometry.cell_bytes());
  return is_slack_intact(p, bytes, site.geometry.cell_bytes());
}

/// Effects: reports a damaged canary after a cell's `bytes` bytes, as another size or as writes. Does nothing below
/// `hardened`, which has no canary, nor without a size. Expects: the cell is live.
ASHLAR_INLINE void check_slack(const free_site& site, void* p, std::size_t bytes) noexcept {
  if (ASHLAR_LIKELY(is_slack_of_cell_intact(site, p, bytes))) return;
  const slack_state found = look_at_slack(p, bytes, site.geometry.cell_bytes());
  if (found.allocated != bytes)
    report_size("freed a cell with another size than it was allocated with", p, site, found.allocated, bytes);
  report({.kind = fault::overflow,
          .what = "bytes of a cell past the size that it is freed with were written to",
          .pointer = p,
          .resource = site.pool,
          .expected = bytes,
          .got = found.written_to,
          .block_bytes = site.geometry.cell_bytes()});
}

/// Returns: the live cell at `p`, freed without a size or with `bytes`; none if `p` is in no slab of the pool.
/// Effects: reports any other `p`, writes around the cell, and a `bytes` that differs from the size at allocation, as
/// far as the level detects them. `p` is not read before it is known to be a cell. Complexity: expected O(log slabs).
[[nodiscard]] inline located_cell check_free(const free_site& site, void* p, std::size_t bytes = unsized) noexcept {
  slab* const home = site.slabs.find(site.geometry, p);
  if (home == nullptr) return {};
  const located_cell live = {home, check_single(site, home, p)};
  check_slack(site, p, bytes);
  cell_watch(site.geometry, live.home).expect_guards(live.index);
  return live;
}

// Returns: the length of the run at a cell; for an unknown one `said`, if the run can be that long.
[[nodiscard]] inline std::size_t length_of_run(const slab* home, std::uint32_t cell, std::size_t said) noexcept {
  if (!home->runs.is_unknown()) return home->runs.length_at(cell);
  return detail::min<std::size_t>(said, 64 - cell % 64, home->capacity - cell);
}

/// Effects: reports a free of anything but a run of `length` cells, of the pool or, beyond the longest run, of the
/// upstream. At `hardened`, also reports writes around the run. `run` is not read before it is known to be one.
template <resource Upstream>
ASHLAR_NOINLINE void check_run_free(const free_site& site, const Upstream& upstream, void* run,
                                    std::size_t length) noexcept {
  slab* const home = site.slabs.find(site.geometry, run);
  if (home == nullptr) {
    std::size_t bytes = 0;
    const bool exists = checked_mul(length, site.geometry.cell_bytes(), bytes);
    if (!is_run_of_slab(length, site.geometry.least_capacity()))
      return check_larger_free(site, run, {exists ? bytes : max_size, site.geometry.cell_alignment()});
    report_unheld(site, upstream, run, bytes);
  }
  const std::uint32_t first = check_live(site, home, run);
  const std::size_t was = length_of_run(home, first, length);
  if (length != was) report_length(run, site, was, length);
  for (std::uint32_t cell = first; cell < first + length; ++cell)
    if (home->is_free(cell)) report_free(fault::double_free, "freed a run with a cell that is free", run, site);
  cell_watch(site.geometry, home).expect_guards_of_run(first, static_cast<std::uint32_t>(length));
}

/// Effects: takes a live cell back. Returns: false if `retire_checked` must decide: `p` may not be a live cell, a
/// guard may be damaged, or the slab is not in the map or must be filed again. Reports nothing and calls no handler.
template <class Store>
[[nodiscard]] ASHLAR_INLINE bool retire_at_once(const free_site& site, Store& store, void* p,
                                                std::size_t bytes = unsized) noexcept {
  const located_cell live = find_live(site, p);
  if (ASHLAR_UNLIKELY(live.home == nullptr || !slab_set::stays_filed(live.home))) return false;
  if (ASHLAR_UNLIKELY(!is_slack_of_cell_intact(site, p, bytes))) return false;
  if (ASHLAR_UNLIKELY(!cell_watch(site.geometry, live.home).are_guards_intact(live.index))) return false;
  mark_free(p, site.geometry.cell_bytes());
  store.retire(site.geometry, live.home, live.index);
  return true;
}

/// Effects: takes a live cell back, and enters its slab in the map. Reports any other `p`, and writes around the cell.
/// Returns: false if `p` is in no slab of the pool: then call `report_unheld`. Complexity: expected O(log slabs).
template <class Store>
[[nodiscard]] ASHLAR_COLD bool retire_checked(const free_site& site, Store& store, void* p,
                                              std::size_t bytes = unsized) noexcept {
  const located_cell live = check_free(site, p, bytes);
  if (ASHLAR_UNLIKELY(live.home == nullptr)) return false;
  store.remember(site.geometry, live.home);
  mark_free(p, site.geometry.cell_bytes());
  store.retire(site.geometry, live.home, live.index);
  return true;
}

}  // namespace ashlar::ASHLAR_ABI::detail
