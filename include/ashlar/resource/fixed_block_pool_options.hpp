// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of pools whose cell size is a type's: a limit of cells, and the retained slabs.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/retain_policy.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// Limits of the cells and of the retained memory of a `fixed_block_pool` or a `counted_pool`.
struct fixed_block_pool_options {
  std::size_t max_count = detail::max_size;  ///< limit of live cells; `allocate` throws beyond it
  retain_policy retain_slabs = 1;            ///< empty slabs to retain; also `release_now`, `never_release`
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
