// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resident memory of a process, which tells whether malloc has most of it: read by the process at its end, and by
// `ashlar record` while it runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace ashlar::recorder {

/// In bytes; 0 is unknown.
struct memory_use {
  std::uint64_t peak = 0;       ///< Most resident memory so far.
  std::uint64_t anonymous = 0;  ///< Resident now, and no file's.
};

/// Returns: the field of /proc/PID/status, "Name:    123 kB"; 0 if there is none.
[[nodiscard]] constexpr std::uint64_t status_field(std::string_view status, std::string_view name) noexcept {
  std::size_t at = status.find(name);
  if (at == status.npos) return 0;
  at = status.find_first_of("0123456789", at);
  std::uint64_t kib = 0;
  for (; at < status.size() && status[at] >= '0' && status[at] <= '9'; ++at)
    kib = kib * 10 + static_cast<std::uint64_t>(status[at] - '0');
  return at < status.size() ? kib * 1024 : 0;  // not of a field that is cut off
}

/// Returns: the memory in the text of /proc/PID/status.
[[nodiscard]] constexpr memory_use memory_in(std::string_view status) noexcept {
  return {status_field(status, "\nVmHWM:"), status_field(status, "\nRssAnon:")};
}

/// Returns: the memory in /proc/PID/status, which may be of any length. Takes no lock and allocates nothing.
[[nodiscard]] inline memory_use memory_from(int status) noexcept {
  constexpr std::size_t longest_field = 64;
  char text[2048];
  memory_use found;
  std::size_t kept = 0;
  while (found.peak == 0 || found.anonymous == 0) {
    const ssize_t n = read(status, text + kept, sizeof text - kept);
    if (n <= 0) break;
    const std::size_t size = kept + static_cast<std::size_t>(n);
    const memory_use here = memory_in({text, size});
    found = {std::max(found.peak, here.peak), std::max(found.anonymous, here.anonymous)};
    kept = std::min(size, longest_field);
    std::memmove(text, text + size - kept, kept);
  }
  return found;
}

/// Returns: the memory of this process. Takes no lock and allocates nothing.
[[nodiscard]] memory_use own_memory() noexcept;

/// Returns: at most this many of the bytes are resident. Expects: they are mapped.
[[nodiscard]] std::uint64_t resident_part(const void* begin, std::size_t bytes) noexcept;

/// Returns: the resident bytes of this library's variables.
[[nodiscard]] std::uint64_t resident_variables() noexcept;

}  // namespace ashlar::recorder
