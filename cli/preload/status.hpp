// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `ashlar record` and the library that it preloads share: environment variables, limits, and a page of all
// recorded processes, for failures that no trace can contain.
#pragma once

#include <atomic>
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

/// The names of the programs that are recorded, with `*` and `?`, a line for each; absent: all.
inline constexpr char only_variable[] = "ASHLAR_RECORD_ONLY";
/// "0": only the first process is recorded.
inline constexpr char children_variable[] = "ASHLAR_RECORD_CHILDREN";

/// The id of shared memory for facts that traces of recorded processes cannot contain, a `recording_status`.
inline constexpr char status_variable[] = "ASHLAR_RECORD_STATUS";

inline constexpr std::uint32_t max_stack_depth = 128;
inline constexpr std::uint32_t stack_slots = 1 << 20;
inline constexpr std::uint32_t max_stacks = stack_slots / 4 * 3;  ///< Different ones of a process.
/// The loss by a kill for each thread where there is no live file, and the unit of compression.
inline constexpr std::uint32_t log_records = 4096;
inline constexpr std::size_t max_path_bytes = 4096;

/// Distinguishes a status page from other shared memory: in another namespace the same id names something else.
inline constexpr std::uint64_t status_magic = 0x7561'7453'6863'4152;

/// A process with events that are not all in its trace yet.
struct recorded_process {
  std::atomic<std::int32_t> id;          ///< 0: none.
  std::atomic<std::uint32_t> threads;    ///< With a log.
  std::atomic<std::uint64_t> start_ns;   ///< As in its trace: after an exec the id is the same.
  std::atomic<std::uint64_t> inherited;  ///< Bytes of its memory at the fork that made it.
};

/// Shared memory of System V, which survives a full disk, a file-size limit and a closed descriptor. Any of the
/// processes writes the words; `ashlar record` reads them when the program has ended.
struct recording_status {
  std::uint64_t magic;
  std::uint64_t max_bytes;                 ///< Of all traces together; 0: no limit.
  std::atomic<std::uint64_t> bytes;        ///< Written, or refused beyond the limit.
  std::atomic<std::uint32_t> traces;       ///< Files that have their header.
  std::atomic<std::uint32_t> failures;     ///< Processes with an incomplete trace.
  std::atomic<std::int32_t> first_error;   ///< Of the first of them: an errno, or `detail::trace_io::cut_by_program`.
  std::atomic<std::uint32_t> path_length;  ///< 0 until `path` is complete.
  char path[max_path_bytes + 32];          ///< The trace of the first failure.
  recorded_process unfinished[1024];       ///< Further ones are not listed.
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::int32_t>::is_always_lock_free);

/// Effects: maps the page that the environment names; without one, reports are dropped.
void connect_status() noexcept;

/// Effects: reports that a trace has its header.
void tell_trace() noexcept;

/// Returns: whether the limit of all traces leaves room for these bytes more, which then count.
[[nodiscard]] bool claim_bytes(std::uint64_t bytes) noexcept;

/// Effects: reports that this process has events, until `tell_end`. `inherited`: bytes of memory that are the parent's.
void tell_process(std::uint64_t start_ns, std::uint64_t inherited) noexcept;

/// Effects: reports that this process has more threads with a log, or fewer.
void tell_threads(std::int32_t change) noexcept;

/// Effects: reports that all events of this process are in its trace.
void tell_end() noexcept;

/// Effects: drops further reports.
void disconnect_status() noexcept;

/// Effects: in a forked child: the parent's reports are not the child's.
void reset_status() noexcept;

/// Effects: reports, once, that the trace `path` ends before the program does, or lacks events.
void tell_failure(int error, const char* path) noexcept;

}  // namespace ashlar::recorder
