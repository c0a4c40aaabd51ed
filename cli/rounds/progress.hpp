// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The line on standard error about the run in progress, which the next one replaces.
#pragma once

#include <cstdio>
#include <string>

#include <unistd.h>

namespace ashlar::cli {

[[nodiscard]] inline bool shows_progress() noexcept {
  static const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return terminal;
}

/// Nothing is printed unless standard error is a terminal.
inline void print_progress(const std::string& text) {
  if (shows_progress()) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

inline void clear_progress() {
  if (shows_progress()) std::fputs("\r\033[K", stderr);
}

}  // namespace ashlar::cli
