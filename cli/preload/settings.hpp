// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The environment variables between `ashlar record` and the library that it preloads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar::recorder {

/// The trace's path, absolute; "%p" in it stands for the process id.
inline constexpr char file_variable[] = "ASHLAR_RECORD_FILE";
/// The number of call-stack frames of each record; absent or 0: none.
inline constexpr char stacks_variable[] = "ASHLAR_RECORD_STACKS";
/// The process that may use the path unchanged. All others append ".<process id>".
inline constexpr char first_variable[] = "ASHLAR_RECORD_FIRST";

/// The number of the recording, which stands in the traces of all its processes.
inline constexpr char session_variable[] = "ASHLAR_RECORD_SESSION";

/// The id of shared memory for facts that traces of recorded processes cannot contain; see status.hpp.
inline constexpr char status_variable[] = "ASHLAR_RECORD_STATUS";

inline constexpr std::uint32_t max_stack_depth = 128;
inline constexpr std::uint32_t stack_slots = 1 << 20;
inline constexpr std::uint32_t max_stacks = stack_slots / 4 * 3;  ///< Different ones of a process.
/// The loss by a kill for each thread, and the unit of compression.
inline constexpr std::uint32_t log_records = 4096;
inline constexpr std::size_t max_path_bytes = 4096;

}  // namespace ashlar::recorder
