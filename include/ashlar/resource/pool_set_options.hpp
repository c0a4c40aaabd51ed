// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of pools for many sizes: the largest cell, the growth of a class, the retained slabs.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/retain_policy.hpp>

namespace ashlar::ASHLAR_ABI {

/// Limits of the cells and of the retained memory of a `pool_set` or a `shared_pool_set`.
struct pool_set_options {
  /// Larger blocks, in bytes, come from the upstream one by one. 0: 32 KiB, which is also the maximum.
  std::size_t max_cell_bytes = 0;
  /// Limit of the cells that a class asks the upstream for at once. A class whose limit is below one slab has no
  /// slabs; its blocks come from the upstream too.
  std::size_t max_growth_count = detail::max_size;
  retain_policy retain_slabs = 1;  ///< empty slabs that each class retains; also `release_now`, `never_release`
};

}  // namespace ashlar::ASHLAR_ABI
