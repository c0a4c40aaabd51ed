// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A complete write of text to a file descriptor, despite interruptions.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <unistd.h>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Effects: writes all of `text`, in one call if the system accepts it; preserves `errno`. Allocates nothing.
/// Returns: whether all of it was written.
inline bool write_all(int descriptor, std::string_view text) noexcept {
  const int error_before = errno;
  while (!text.empty()) {
    const ::ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR) break;
  }
  errno = error_before;
  return text.empty();
}

}  // namespace ashlar::ASHLAR_ABI::detail
