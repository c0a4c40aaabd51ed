// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The resident memory of a process, which tells whether malloc has most of it: read by the process at its end, and by
// `ashlar record` while it runs.
#pragma once

#include "malloc/loaded_files.hpp"

namespace ashlar::recorder {

/// In bytes; 0 is unknown.
struct memory_use {
  std::uint64_t peak = 0;       ///< Most resident memory so far.
  std::uint64_t anonymous = 0;  ///< Resident now, and no file's.
};

/// Returns: the memory in /proc/PID/status.
[[nodiscard]] inline memory_use memory_in(const char* status) noexcept {
  const auto [peak, anonymous] = drop_in::status_fields(status, {"VmHWM:", "RssAnon:"});
  return {peak, anonymous};
}

/// Returns: at most this many of the bytes are resident. Expects: they are mapped.
[[nodiscard]] std::uint64_t resident_part(const void* begin, std::size_t bytes) noexcept;

/// Returns: the resident bytes of this library's variables.
[[nodiscard]] std::uint64_t resident_variables() noexcept;

}  // namespace ashlar::recorder
