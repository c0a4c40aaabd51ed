// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The trace file of a process: opened at the first chunk, one whole chunk for each write, abandoned at the first error;
// and the payloads, which have no other way to it.
#pragma once

#include <sys/types.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/trace/format.hpp>

#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/status.hpp"
#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

class trace_file {
public:
  /// Effects: stores the path, and the command line while it is unchanged. Returns: whether to record this process.
  [[nodiscard]] bool configure() noexcept;

  /// Effects: in a forked child: chooses a new file, not opened yet.
  void restart() noexcept;

  /// Effects: appends the chunk, after the file header if it is the first one.
  /// Returns: false if recording is over: the disk is full, the file cannot be opened, the program has cut it, … Then
  /// the file's header and `ashlar record` have the reason.
  [[nodiscard]] bool write(std::span<const std::byte> chunk) noexcept;

  /// Effects: writes the path of this process's trace, if no other process has it.
  void wish_path(std::span<char> to) const noexcept;

  /// Effects: fills in what a trace begins with.
  void describe(live_head& to) noexcept;

  /// Returns: whether forked children are recorded.
  [[nodiscard]] bool records_children() const noexcept { return records_children_; }

  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::uint64_t start_ticks() const noexcept { return start_ticks_; }
  [[nodiscard]] std::uint64_t start_ns() const noexcept { return start_ns_; }
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  /// Returns: its path; until it is opened, the path that was wished.
  [[nodiscard]] const char* path() const noexcept { return started_ ? path_ : pattern_storage_; }

private:
  void start_clock() noexcept;
  void read_command_line() noexcept;
  bool is_wanted() const noexcept;
  bool ensure_open() noexcept;
  bool still_ours() const noexcept;
  bool open_path(int flags) noexcept;
  bool create() noexcept;
  bool adopt(int fd) noexcept;
  std::span<const std::byte> make_file_header(int write_error) noexcept;
  bool write_all(std::span<const std::byte> bytes) noexcept;
  bool is_whole() const noexcept;
  bool give_up(int error) noexcept;
  void mark_failure(int error) noexcept;

  sleeping_lock lock_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool started_ = false;  // the file exists and has its header
  bool failed_ = false;
  std::uint64_t written_ = 0;  // bytes in the file
  bool is_first_ = false;      // may use the path unchanged
  bool records_children_ = true;
  pid_t process_ = 0;
  pid_t parent_ = 0;
  std::uint64_t session_ = 0;
  std::uint64_t start_ticks_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t start_unix_ns_ = 0;
  std::uint32_t stack_depth_ = 0;
  std::size_t command_bytes_ = 0;
  char pattern_storage_[max_path_bytes] = {};
  char path_[max_path_bytes + 32] = {};
  std::byte header_[8192] = {};  // file header, command line, checksum
};

/// The file of this process.
extern constinit trace_file file;

/// Effects: packs and appends a chunk; fills in its clocks. Returns: false if recording is over.
bool write_chunk(detail::trace_io::chunk_header header, std::span<const std::byte> payload) noexcept;

/// Effects: encodes, packs and appends the log's unwritten records. Expects: the lock of the log is held.
/// Returns: the number of records that could not be written.
[[nodiscard]] std::uint64_t write_records(live_records& log) noexcept;

/// Returns: the resident bytes of the workspaces.
[[nodiscard]] std::uint64_t resident_workspaces() noexcept;

/// Effects: in a forked child: frees the workspaces, which threads that it lacks may have held.
void reset_workspaces() noexcept;

}  // namespace ashlar::recorder
