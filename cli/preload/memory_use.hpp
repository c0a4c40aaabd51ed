// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resident memory of a process, which tells whether malloc has most of it: read by the process at its end, and by
// `ashlar record` while it runs.
#pragma once

#include <algorithm>
#include <array>

#include "malloc/loaded_files.hpp"

namespace ashlar::recorder {

/// Returns: the fields of /proc/PID/status of these names, "Name:    123 kB", in bytes; 0 where there is none. Takes no
/// lock and allocates nothing.
template <std::size_t N>
[[nodiscard]] std::array<std::uint64_t, N> status_fields(const char* path,
                                                         const std::string_view (&names)[N]) noexcept {
  std::array<std::uint64_t, N> found{};
  drop_in::file_lines lines(path);
  for (std::string_view line; lines.next(line);)
    for (std::size_t i = 0; i < N; ++i) {
      if (!line.starts_with(names[i])) continue;
      std::size_t at = std::min(line.find_first_of("0123456789"), line.size());
      std::uint64_t kib = 0;
      for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at)
        kib = kib * 10 + static_cast<std::uint64_t>(line[at] - '0');
      if (at < line.size()) found[i] = kib * 1024;  // not of a field that is cut off
    }
  return found;
}

/// In bytes; 0 is unknown.
struct memory_use {
  std::uint64_t peak = 0;       ///< Most resident memory so far.
  std::uint64_t anonymous = 0;  ///< Resident now, and no file's.
};

/// Returns: the memory in /proc/PID/status.
[[nodiscard]] inline memory_use memory_in(const char* status) noexcept {
  const auto [peak, anonymous] = status_fields(status, {"VmHWM:", "RssAnon:"});
  return {peak, anonymous};
}

/// Returns: at most this many of the bytes are resident. Expects: they are mapped.
[[nodiscard]] std::uint64_t resident_part(const void* begin, std::size_t bytes) noexcept;

/// Returns: the resident bytes of this library's variables.
[[nodiscard]] std::uint64_t resident_variables() noexcept;

}  // namespace ashlar::recorder
