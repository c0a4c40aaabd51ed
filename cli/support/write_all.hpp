// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes to a file descriptor, which may take them piece by piece.
#pragma once

#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace ashlar::cli {

/// Returns: whether all bytes were written; if not, errno has the reason.
[[nodiscard]] inline bool write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace ashlar::cli
