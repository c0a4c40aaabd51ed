// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The free of a pool at the levels that check: an inlined fast path for valid frees, and a slow path step by step.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Effects: takes a live cell back. Returns: false if `retire_checked` must decide: `p` may not be a live cell, a
/// guard may be damaged, or the slab is not in the map or must be filed again. Reports nothing and calls no handler.
template <class Store, class... Bytes>
[[nodiscard]] ASHLAR_INLINE bool retire_at_once(const free_site& site, Store& store, void* p, Bytes... bytes) noexcept {
  const located_cell live = find_live(site, p);
  if (ASHLAR_UNLIKELY(live.home == nullptr || !slab_set::stays_filed(live.home))) return false;
  if (ASHLAR_UNLIKELY(!is_intact_around(site, live, p, bytes...))) return false;
  mark_free(p, site.geometry.cell_bytes());
  store.retire(site.geometry, live.home, live.index);
  return true;
}

/// Effects: takes a live cell back, and enters its slab in the map. Reports any other `p`, and writes around the cell.
/// Returns: false if `p` is in no slab of the pool: then call `report_unheld`. Complexity: expected O(log slabs).
template <class Store, class... Bytes>
[[nodiscard]] ASHLAR_COLD bool retire_checked(const free_site& site, Store& store, void* p, Bytes... bytes) noexcept {
  const located_cell live = check_free(site, p, bytes...);
  if (ASHLAR_UNLIKELY(live.home == nullptr)) return false;
  store.remember(site.geometry, live.home);
  mark_free(p, site.geometry.cell_bytes());
  store.retire(site.geometry, live.home, live.index);
  return true;
}

/// Effects: reports a free of an address in no slab of the pool, without a size or with that of a cell. With a size,
/// the upstream may be asked whether it owns the block. `p` is not read.
template <resource Upstream>
[[noreturn]] void report_unheld(const free_site& site, const Upstream&, const void* p) noexcept {
  report_foreign(p, site);
}
template <resource Upstream>
[[noreturn]] void report_unheld(const free_site& site, const Upstream& upstream, const void* p,
                                std::size_t bytes) noexcept {
  report_no_cell(site, upstream, p, bytes);
}

}  // namespace ashlar::ASHLAR_ABI::detail
