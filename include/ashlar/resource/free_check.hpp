// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a pool checks before it takes a cell back, at the levels that check.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/part/slab.hpp>
#include <ashlar/part/slab_geometry.hpp>
#include <ashlar/part/slab_set.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// The pool that a cell is freed to.
struct free_site {
  const slab_geometry& geometry;
  const slab_set& slabs;
  const void* pool;
};

[[noreturn]] ASHLAR_COLD inline void report_free(fault kind, const char* what, const void* cell,
                                                 const free_site& site) noexcept {
  report({.kind = kind, .what = what, .pointer = cell, .resource = site.pool, .size = site.geometry.cell_bytes()});
}

/// Effects: reports a free of what is no live cell of the pool; does not return then. `cell` is not read.
/// `waits` says whether the pool holds the cell outside its bitmap. Complexity: O(log slabs) expected.
ASHLAR_NOINLINE inline void check_free(const free_site& site, void* cell, bool waits) noexcept {
  slab* const home = site.slabs.find(site.geometry, cell);
  if (home == nullptr) report_free(fault::invalid_free, "freed a pointer that is not of this pool", cell, site);
  const std::uint32_t index = slab_set::index_in(site.geometry, home, cell);
  if (home->cells + std::size_t{index} * site.geometry.cell_bytes() != cell)
    report_free(fault::misaligned_free, "freed a pointer into the middle of a cell", cell, site);
  if (waits || home->is_free(index)) report_free(fault::double_free, "freed a cell that is free", cell, site);
}

}  // namespace ashlar::inline ASHLAR_ABI
