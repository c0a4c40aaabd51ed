// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of equal cells whose size is chosen at run time.
#pragma once

#include <bit>
#include <cstddef>
#include <limits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/basic_block_pool.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/default_upstream.hpp>
#include <ashlar/resource/retain_policy.hpp>

namespace ashlar::ASHLAR_ABI {

struct block_pool_options {
  std::size_t cell_bytes = 0;      ///< at least 1; cells have exactly this size, rounded up to their alignment
  std::size_t cell_alignment = 0;  ///< a power of two; 0: the largest that divides `cell_bytes`, at most max_align_t's
  std::size_t slab_bytes = 0;      ///< a power of two with room for one cell at least; 0: chosen from the cell
  std::size_t max_count = detail::max_size;
  retain_policy retain_slabs = 1;  ///< empty slabs to retain; also `release_now`, `never_release`
};

namespace detail {

/// The largest slab size, in bytes. A slab counts its cells, of one byte at least, in 32 bits.
inline constexpr std::size_t largest_slab = std::size_t{1} << 31;
static_assert(largest_slab <= std::numeric_limits<decltype(detail::slab::capacity)>::max(), "counts may not wrap");
static_assert(largest_slab <= std::numeric_limits<decltype(detail::slab::free)>::max(), "counts may not wrap");
static_assert(largest_slab <= std::numeric_limits<decltype(detail::slab::turn)>::max(), "counts may not wrap");

/// Returns: the default slab size for cells of `cell_bytes`. At 256 KiB the system calls of growing and shrinking no
/// longer matter (./dev bench fresh_memory), and tree nodes still spread over the cache sets (./dev bench
/// node_containers). Cells below 8 bytes get smaller slabs, with a bitmap that a small pool can afford; slabs of large
/// cells have room for 7 at least. Without an operating system, memory is taken to be small: slabs have room for about
/// 16 cells. Over an upstream with larger parts, such as huge pages, a slab is one of these.
[[nodiscard]] constexpr std::size_t default_slab_bytes(std::size_t cell_bytes, std::size_t part_bytes = 0) noexcept {
  const bool is_slab = part_bytes != 0 && is_power_of_two(part_bytes) && part_bytes <= largest_slab;
  if (is_slab) return detail::max(part_bytes, default_slab_bytes(cell_bytes));
  if (!is_hosted) return detail::max(std::size_t{1024}, std::bit_ceil(16 * cell_bytes));
  if (cell_bytes < 8) return largest_page;
  return detail::max(std::size_t{256} * 1024, std::bit_ceil(8 * cell_bytes));
}

/// Returns: the layout for the options, with defaults filled in, over an upstream with parts of `part_bytes`.
/// Expects: the bounds of each option. Every level checks them, since a wrong layout corrupts memory.
[[nodiscard]] constexpr detail::slab_geometry make_slab_geometry(const block_pool_options& options,
                                                                 std::size_t part_bytes = 0) noexcept {
  constexpr std::size_t largest_cell = std::size_t{1} << 27;
  ASHLAR_REQUIRE(options.cell_bytes != 0 && options.cell_bytes <= largest_cell, "cell_bytes is not in 1..2^27");
  const std::size_t alignment =
      options.cell_alignment != 0 ? options.cell_alignment : detail::natural_alignment(options.cell_bytes);
  ASHLAR_REQUIRE(detail::is_power_of_two(alignment) && alignment <= largest_cell,
                 "cell_alignment is not a power of two");
  const std::size_t cell_bytes = detail::align_up(options.cell_bytes, alignment);
  const std::size_t slab_bytes =
      options.slab_bytes != 0 ? options.slab_bytes : default_slab_bytes(cell_bytes, part_bytes);
  ASHLAR_REQUIRE(detail::is_power_of_two(slab_bytes) && slab_bytes <= largest_slab, "slab_bytes is not a power of two");
  ASHLAR_REQUIRE(slab_bytes > sizeof(detail::slab) && slab_bytes >= cell_bytes, "slab_bytes has no room for a cell");
  const detail::slab_geometry geometry({.cell_bytes = cell_bytes,
                                        .cell_alignment = alignment,
                                        .slab_bytes = slab_bytes,
                                        .header_bytes = sizeof(detail::slab)});
  ASHLAR_REQUIRE(geometry.least_capacity() != 0, "slab_bytes has no room for a cell");
  return geometry;
}

/// A slab layout known at run time.
class dynamic_geometry {
public:
  explicit constexpr dynamic_geometry(const detail::slab_geometry& geometry) noexcept : geometry_(geometry) {}
  [[nodiscard]] ASHLAR_INLINE constexpr const detail::slab_geometry& get() const noexcept { return geometry_; }

private:
  detail::slab_geometry geometry_;
};

}  // namespace detail

/// Equal cells in slabs aligned to their own size, with 0 bytes of overhead per cell. See `basic_block_pool`.
///
///     ashlar::block_pool pool({.cell_bytes = 24});
///     void* cell = pool.allocate();
///     pool.deallocate(cell);
template <resource Upstream>
class block_pool : public detail::basic_block_pool<detail::dynamic_geometry, Upstream> {
  using base = detail::basic_block_pool<detail::dynamic_geometry, Upstream>;

public:
  explicit block_pool(const block_pool_options& options, Upstream upstream = {})
      : base(detail::dynamic_geometry(detail::make_slab_geometry(options, detail::least_part<Upstream>)),
             options.max_count, options.retain_slabs, std::move(upstream)) {}
};

static_assert(try_resource<block_pool<>> && owning_resource<block_pool<>> && releasable_resource<block_pool<>> &&
              detail::run_resource<block_pool<>>);

}  // namespace ashlar::ASHLAR_ABI
