// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of the heaps: limits on the memory they hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI {

/// Limits of a `heap`, `owner_heap`, `tiered_heap` or `local_heap`, all threads of a heap together.
struct heap_options {
  std::size_t max_bytes = detail::max_size;          ///< bytes held from the upstream at once, tables included
  std::size_t retain_bytes = std::size_t{16} << 20;  ///< bytes of free memory that only `trim` gives back
  std::uint32_t decay_ms = 500;                      ///< milliseconds that other free memory stays for reuse; 0: none
  std::size_t max_cached_cells = 4096;  ///< free cells of a size class that wait for a sweep; bounds a pause
};

}  // namespace ashlar::ASHLAR_ABI
