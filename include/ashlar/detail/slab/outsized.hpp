// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The number of blocks of a pool that no cell can hold, and the report of a pool with too small cells.
#pragma once

#include <cstddef>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/slab_geometry.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Thread safety: any thread if `IsShared`, else none.
template <class Upstream, bool IsShared>
class outsized_count {
public:
  [[nodiscard]] std::size_t get() const noexcept { return count_.load(memory_order_relaxed); }

  /// Returns: a block of `upstream` that no cell of `pool` can hold, counted. Null if it has no memory left and
  /// `Failure` is `or_null`; else throws as the upstream.
  template <failure Failure, class Pool>
  [[nodiscard]] ASHLAR_COLD void* take(Pool& pool, const slab_geometry& geometry, Upstream& upstream, std::size_t bytes,
                                       std::size_t alignment) noexcept(Failure == or_null) {
    void* p = nullptr;
    if constexpr (Failure == or_throw) p = allocate_upstream(upstream, bytes, alignment);
    else p = try_allocate_upstream(upstream, bytes, alignment);
    if (p != nullptr) add(pool, geometry, bytes, alignment);
    return p;
  }

  /// As `take`, with the actual size of the block.
  template <class Pool>
  [[nodiscard]] ASHLAR_COLD block take_at_least(Pool& pool, const slab_geometry& geometry, Upstream& upstream,
                                                std::size_t bytes, std::size_t alignment) {
    const block got = allocate_upstream_at_least(upstream, bytes, alignment);
    add(pool, geometry, bytes, alignment);
    return got;
  }

private:
  // From level `checked` on, the 64th is reported if the pool has no live cell: then its cells serve nothing.
  template <class Pool>
  void add(Pool& pool, [[maybe_unused]] const slab_geometry& geometry, [[maybe_unused]] std::size_t bytes,
           [[maybe_unused]] std::size_t alignment) noexcept {
    std::size_t count = get() + 1;
    if constexpr (IsShared) count = count_.fetch_add(1, memory_order_relaxed) + 1;
    else count_.store(count, memory_order_relaxed);
    if constexpr (checking_level >= checking::checked) {
      if (count != outsized_blocks::first_reported || pool.live() != 0) return;
      on_outsized.load(memory_order_relaxed)({.resource = &pool,
                                              .count = count,
                                              .cell_bytes = geometry.cell_bytes(),
                                              .cell_alignment = geometry.cell_alignment(),
                                              .bytes = bytes,
                                              .alignment = alignment});
    }
  }

  atomic<std::size_t> count_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
