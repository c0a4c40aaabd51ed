// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a pool takes back what may be no live cell: at once where nothing is wrong and little to do, else step by step.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Effects: takes a live cell back. Returns: false where `retire_checked` must: it may be none, or have been written
/// around, or its slab is not remembered or is to be filed anew. Reports nothing, and calls nobody.
template <class Store, class... Bytes>
[[nodiscard]] ASHLAR_INLINE bool retire_at_once(const free_site& site, Store& store, void* p, Bytes... bytes) noexcept {
  const located_cell live = find_live(site, p);
  if (ASHLAR_UNLIKELY(live.home == nullptr || !slab_set::stays_filed(live.home))) return false;
  if (ASHLAR_UNLIKELY(!is_intact_around(site, live, p, bytes...))) return false;
  mark_free(p, site.geometry.cell_bytes());
  store.retire(site.geometry, live.home, live.index);
  return true;
}

/// Effects: takes a live cell back, and remembers its slab. Reports what is none, and writes around it.
/// Returns: false where `p` is in no slab of the pool: then `report_unheld`. Complexity: O(log slabs) expected.
template <class Store, class... Bytes>
[[nodiscard]] ASHLAR_COLD bool retire_checked(const free_site& site, Store& store, void* p, Bytes... bytes) noexcept {
  const located_cell live = check_free(site, p, bytes...);
  if (ASHLAR_UNLIKELY(live.home == nullptr)) return false;
  store.remember(site.geometry, live.home);
  mark_free(p, site.geometry.cell_bytes());
  store.retire(site.geometry, live.home, live.index);
  return true;
}

/// Effects: reports a free of what is in no slab of the pool, without a size or with that of a cell: then the upstream
/// may be asked whether it is a block of its own. `p` is not read.
template <resource Upstream>
[[noreturn]] void report_unheld(const free_site& site, const Upstream&, const void* p) noexcept {
  report_foreign(p, site);
}
template <resource Upstream>
[[noreturn]] void report_unheld(const free_site& site, const Upstream& upstream, const void* p,
                                std::size_t bytes) noexcept {
  report_no_cell(site, upstream, p, bytes);
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
