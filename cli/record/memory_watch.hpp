// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of recorded processes, seen from outside while they run: the peak of those that are killed, and of those
// that give their memory back before their end.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/status.hpp"

namespace ashlar::cli {

/// Looks at all processes every 10 ms, or so rarely that it takes a hundredth of a processor.
class memory_watch {
public:
  /// `page` may be null, and outlives this.
  explicit memory_watch(const recorder::recording_status* page) noexcept : page_(page) {}

  /// Effects: reads the memory of the processes that have begun and not ended. Returns: the time until the next look.
  std::chrono::milliseconds look();

  /// Effects: appends what was seen to the trace at `path`, if that has less. Expects: its process has ended.
  void append_to(const std::string& path) const;

private:
  void look_at(const recorder::recorded_process& process);

  using identity = std::pair<std::int32_t, std::uint64_t>;  // process id and start, as after an exec the id is the same
  const recorder::recording_status* page_;
  std::map<identity, detail::trace_io::memory_figures> seen_;
};

}  // namespace ashlar::cli
