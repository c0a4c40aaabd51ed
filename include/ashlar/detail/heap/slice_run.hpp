// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New memory with the knowledge of whether it is zero.
#pragma once

#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A span of slices, an extent, or any new block. `is_zero`: all bytes are zero, unused since they came from the
/// system.
struct slice_run {
  std::byte* data = nullptr;
  bool is_zero = false;
};

/// Returns: the block, or null, with its first `bytes` bytes zero.
inline void* zeroed(const slice_run& got, std::size_t bytes) noexcept {
  if (got.is_zero) mark_readable(got.data, bytes);  // otherwise Valgrind takes the zeroes for undefined
  else if (got.data != nullptr) std::memset(got.data, 0, bytes);
  return got.data;
}

}  // namespace ashlar::ASHLAR_ABI::detail
