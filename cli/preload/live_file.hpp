// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live file of this process: made with its first log, grown by a part for each further one, removed at the end.
#pragma once

#include <sys/types.h>

#include <ashlar/base/lock.hpp>

#include "cli/preload/live.hpp"
#include "cli/preload/sleeping_lock.hpp"

namespace ashlar::recorder {

class live_file {
public:
  /// Returns: records in the file, all zeros; null if they cannot lie there, or this is a child that the recorder did
  /// not learn of. A forked child has no such memory. Expects: the thread is inside the recorder.
  [[nodiscard]] live_records* take() noexcept;

  /// Returns: the head, if there is a file; else null.
  [[nodiscard]] live_head* head() const noexcept { return head_.load(std::memory_order_acquire); }

  /// Effects: tells where the trace is, which has its header.
  void tell_trace(const char* path) noexcept;

  /// Effects: tells whether nothing may be taken from it: the program becomes another one, or the trace has failed.
  void tell_over(bool is_over) noexcept;

  /// Effects: tells how many events are lost.
  void tell_dropped(std::uint64_t events) noexcept;

  /// Effects: in a forked child: there is no file.
  void forget() noexcept;

  /// Effects: removes the file, which stays mapped.
  void remove() noexcept;

private:
  bool open() noexcept;
  void* grow(int fd, std::uint64_t bytes) noexcept;

  sleeping_lock lock_;
  std::atomic<live_head*> head_{nullptr};
  std::uint64_t bytes_ = 0;  // of the file
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_refused_ = false;
  char path_[max_path_bytes + 64] = {};
};

/// The one of this process.
extern constinit live_file live;

}  // namespace ashlar::recorder
