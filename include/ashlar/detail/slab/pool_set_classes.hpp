// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The classes of pools for many sizes: the slab size of each, and the limit of its growth.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/pool_set_options.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The size classes of a `pool_set`: they include 24 and 40 bytes, common sizes of nodes.
using pool_classes = fine_size_classes;

/// The largest alignment of cells, in bytes: a larger one would leave no room for slab colours.
inline constexpr std::size_t largest_cell_alignment = 256;

/// Returns: the size of a slab of at most `most_cells` cells, a power of two up to `wanted`; 0 if there is none.
[[nodiscard]] constexpr std::size_t bounded_slab_bytes(std::size_t cell_bytes, std::size_t alignment,
                                                       std::size_t most_cells, std::size_t wanted) noexcept {
  for (std::size_t slab_bytes = wanted; slab_bytes > sizeof(slab) && slab_bytes > cell_bytes; slab_bytes /= 2) {
    const slab_geometry geometry({.cell_bytes = cell_bytes,
                                  .cell_alignment = alignment,
                                  .slab_bytes = slab_bytes,
                                  .header_bytes = sizeof(slab)});
    if (geometry.least_capacity() == 0) return 0;
    if (geometry.capacity(nullptr) <= most_cells) return slab_bytes;  // the gap is 0 at address 0: the largest capacity
  }
  return 0;
}

/// Returns: the options of the pool of a class; `slab_bytes` is 0 if the class can have no slabs. A divisible
/// upstream is the operating system, which backs touched pages only, so slabs have the size of `block_pool`'s. From
/// other upstreams slabs start smaller: 64 KiB unless the cells are large.
template <resource Upstream>
[[nodiscard]] constexpr block_pool_options options_of_class(std::size_t size_class,
                                                            const pool_set_options& options) noexcept {
  const std::size_t cell_bytes = pool_classes::bytes_of(size_class);
  const std::size_t alignment = pool_classes::alignment_of(size_class, largest_cell_alignment);
  const std::size_t wanted = divisible_resource<Upstream> ? default_slab_bytes(cell_bytes, least_part<Upstream>)
                                                          : std::max(largest_page, std::bit_ceil(8 * cell_bytes));
  return {.cell_bytes = cell_bytes,
          .cell_alignment = alignment,
          .slab_bytes = bounded_slab_bytes(cell_bytes, alignment, options.max_growth_count, wanted),
          .retain_slabs = options.retain_slabs};
}

/// Returns: the largest class that may have cells.
[[nodiscard]] constexpr std::size_t largest_class_of(const pool_set_options& options) noexcept {
  const std::size_t wanted = options.max_cell_bytes;
  return wanted == 0 || wanted >= pool_classes::largest ? pool_classes::count : pool_classes::of(wanted);
}

/// The slab source of one class: the source of the set, with a limit on the bytes of a region.
template <resource Source>
class class_upstream {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<Source>;
  static constexpr std::size_t least_part_bytes = least_part<Source>;

  constexpr class_upstream(Source& source, const block_pool_options& options, std::size_t most_cells) noexcept
      : source_(&source), most_bytes_(most_bytes(options, most_cells)) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return source_->allocate(bytes, alignment); }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= most_bytes_ ? try_allocate_from(*source_, bytes, alignment) : nullptr;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    source_->deallocate(p, bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Source>
  {
    source_->prefault(p, bytes);
  }

  [[nodiscard]] friend bool operator==(const class_upstream& a, const class_upstream& b) noexcept {
    return a.source_ == b.source_;
  }

private:
  [[nodiscard]] static constexpr std::size_t most_bytes(const block_pool_options& options,
                                                        std::size_t most_cells) noexcept {
    std::size_t bytes = 0;
    return checked_mul(options.cell_bytes, most_cells, bytes) ? std::max(bytes, options.slab_bytes) : max_size;
  }

  Source* source_;
  std::size_t most_bytes_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
