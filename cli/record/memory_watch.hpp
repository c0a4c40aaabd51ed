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

/// Looks every 10 ms, or so rarely that it takes a 200th of a processor; at each process whenever it is a hundredth
/// older, as it can miss no more than the last hundredth of one that is killed.
class memory_watch {
public:
  /// `page` may be null, and outlives this.
  explicit memory_watch(const recorder::recording_status* page) noexcept : page_(page) {}

  /// Effects: reads the memory of the processes that have begun and not ended. Returns: the time until the next look.
  std::chrono::milliseconds look();

  /// Effects: appends what was seen to the trace at `path`, if that has less. Expects: its process has ended.
  void append_to(const std::string& path) const;

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds least_wait{10};
  static constexpr int look_share = 200, life_share = 100;

  struct watched {
    clock::time_point since, next;
    detail::trace_io::memory_figures figures;
  };

  void look_at(const recorder::recorded_process& process, clock::time_point time);

  using identity = std::pair<std::int32_t, std::uint64_t>;  // process id and start, as after an exec the id is the same
  const recorder::recording_status* page_;
  std::map<identity, watched> seen_;
};

}  // namespace ashlar::cli
