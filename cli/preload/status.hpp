// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page that all recorded processes share with `ashlar record`: what went wrong, where no trace can tell it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cli/preload/settings.hpp"

namespace ashlar::recorder {

/// Tells a status page from other shared memory: in another namespace the same number means something else.
inline constexpr std::uint64_t status_magic = 0x7561'7453'6863'4152;

/// Shared memory of System V, which neither a full disk nor a file-size limit nor a closed descriptor takes away. All
/// words are written by any of the processes and read by `ashlar record` when the program has ended.
struct recording_status {
  std::uint64_t magic;
  std::atomic<std::uint32_t> traces;       ///< Files that got their header.
  std::atomic<std::uint32_t> failures;     ///< Processes whose trace could not be written to its end.
  std::atomic<std::int32_t> first_error;   ///< Of the first of them: an errno, or `detail::trace_io::cut_by_program`.
  std::atomic<std::uint32_t> path_length;  ///< 0 until `path` is whole.
  char path[max_path_bytes + 32];          ///< The trace of the first failure.
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::int32_t>::is_always_lock_free);

/// Effects: maps the page that the environment names; without one, what is told goes nowhere.
void connect_status() noexcept;

/// Effects: tells that a trace has its header.
void tell_trace() noexcept;

/// Effects: tells that the trace `path` ends before the program does.
void tell_failure(int error, const char* path) noexcept;

}  // namespace ashlar::recorder
