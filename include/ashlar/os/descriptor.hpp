// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A complete write of text to a file descriptor, despite interruptions.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>

#if ASHLAR_WINDOWS
#include <io.h>
#else
#include <unistd.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: the number of bytes written by one call, or less than 0.
[[nodiscard]] inline std::ptrdiff_t write_once(int descriptor, std::string_view text) noexcept {
#if ASHLAR_WINDOWS
  constexpr std::size_t most = std::size_t{1} << 30;
  return ::_write(descriptor, text.data(), static_cast<unsigned>(text.size() < most ? text.size() : most));
#else
  return ::write(descriptor, text.data(), text.size());
#endif
}

/// Effects: writes all of `text`, in one call if the system accepts it; preserves `errno`. Allocates nothing.
/// Returns: whether all of it was written.
inline bool write_all(int descriptor, std::string_view text) noexcept {
  const int error_before = errno;
  while (!text.empty()) {
    const std::ptrdiff_t written = write_once(descriptor, text);
    if (written >= 0) text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR) break;
  }
  errno = error_before;
  return text.empty();
}

}  // namespace ashlar::ASHLAR_ABI::detail
