// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The usable size of a request before it is made.
#pragma once

#include <cstddef>

namespace ashlar::drop_in {

/// Returns: usable bytes that a block of `bytes` bytes has at least; 0 for a size that is refused. Expects: `alignment`
/// is a power of two.
[[nodiscard]] std::size_t good_size(std::size_t bytes, std::size_t alignment) noexcept;

}  // namespace ashlar::drop_in
