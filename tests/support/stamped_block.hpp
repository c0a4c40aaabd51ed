// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An oracle in a block: its last writer, at both ends, so that a block with two owners shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ashlar_test {

/// A block and its ends: as much of `stamp` and its complement as there is room for.
struct stamped_block {
  void* p = nullptr;
  std::size_t bytes = 0;
  std::uint64_t stamp = 0;

  void write() const noexcept {
    const std::uint64_t other = ~stamp;
    const std::size_t n = std::min(bytes, sizeof stamp);
    std::memcpy(static_cast<std::byte*>(p) + bytes - n, &other, n);
    if (bytes >= 2 * n) std::memcpy(p, &stamp, n);
  }

  [[nodiscard]] bool is_intact() const noexcept {
    const std::uint64_t other = ~stamp;
    const std::size_t n = std::min(bytes, sizeof stamp);
    return std::memcmp(static_cast<const std::byte*>(p) + bytes - n, &other, n) == 0 &&
           (bytes < 2 * n || std::memcmp(p, &stamp, n) == 0);
  }
};

}  // namespace ashlar_test
