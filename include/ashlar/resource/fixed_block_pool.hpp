// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of equal cells with a compile-time size, so that every offset is a constant.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// Limits of the cells and of the retained memory of a `fixed_block_pool` or a `counted_pool`.
struct fixed_block_pool_options {
  std::size_t max_count = max_size;  ///< limit of live cells; `allocate` throws beyond it
  retain_policy retain_slabs = 1;    ///< empty slabs to retain; also `release_now`, `never_release`
};

namespace detail {

/// A slab layout known at compile time, over an upstream with parts of `PartBytes`.
template <std::size_t CellBytes, std::size_t CellAlignment, std::size_t PartBytes = 0, std::size_t SlabBytes = 0>
struct static_geometry {
  static constexpr slab_geometry value = make_slab_geometry(
      {.cell_bytes = CellBytes, .cell_alignment = CellAlignment, .slab_bytes = SlabBytes}, PartBytes);
  [[nodiscard]] static ASHLAR_INLINE constexpr const slab_geometry& get() noexcept { return value; }
};

}  // namespace detail

/// As `block_pool`, with the sizes of cells and slabs known at compile time. `SlabBytes` is a power of two with room
/// for a cell; 0: chosen from the cell.
template <std::size_t CellBytes, std::size_t CellAlignment, resource Upstream, std::size_t SlabBytes>
class fixed_block_pool
    : public detail::basic_block_pool<
          detail::static_geometry<CellBytes, CellAlignment, least_part<Upstream>, SlabBytes>, Upstream> {
  using geometry_type = detail::static_geometry<CellBytes, CellAlignment, least_part<Upstream>, SlabBytes>;
  using base = detail::basic_block_pool<geometry_type, Upstream>;

public:
  constexpr fixed_block_pool() : fixed_block_pool(fixed_block_pool_options{}) {}
  constexpr explicit fixed_block_pool(const fixed_block_pool_options& options, Upstream upstream = {})
      : base(geometry_type{}, options.max_count, options.retain_slabs, std::move(upstream)) {}

  /// @{ As in `block_pool`, in whose header their contracts stand.
  using base::allocate;
  using base::allocate_at_least;
  using base::allocate_many;
  using base::allocate_run;
  using base::capacity;
  using base::cell_alignment;
  using base::cell_bytes;
  using base::cell_stride;
  using base::deallocate;
  using base::deallocate_many;
  using base::deallocate_run;
  using base::for_each_live;
  using base::held_bytes;
  using base::invariant;
  using base::live;
  using base::outsized_blocks;
  using base::owns;
  using base::release;
  using base::reserve;
  using base::retain;
  using base::retained_bytes;
  using base::slab_bytes;
  using base::slabs;
  using base::trim;
  using base::try_allocate;
  using base::try_allocate_many;
  using base::try_allocate_run;
  using base::upstream_resource;
  using typename base::cell_run;
  /// @}
};

static_assert(try_resource<fixed_block_pool<64>> && owning_resource<fixed_block_pool<64>>);

}  // namespace ashlar::ASHLAR_ABI
