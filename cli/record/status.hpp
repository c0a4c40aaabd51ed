// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page by which recorded processes report to `ashlar record` the facts that their traces cannot contain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/preload/status.hpp"

namespace ashlar::cli {

/// Without memory for the page, nothing is reported, and the recorded program runs unchanged.
class record_status {
public:
  record_status();
  record_status(const record_status&) = delete;
  record_status& operator=(const record_status&) = delete;
  ~record_status();

  /// Returns: the id by which recorded processes find the page; empty without a page.
  [[nodiscard]] std::string id() const;

  /// Returns: whether a process has reported the start of a trace.
  [[nodiscard]] bool any_trace() const noexcept;

  /// A process whose last events are in no trace.
  struct unfinished {
    int process = 0;
    std::uint32_t threads = 0;  ///< That had events.
    bool is_running = false;
  };
  /// Returns: these processes, in ascending order. The recorded program itself has ended.
  [[nodiscard]] std::vector<unfinished> unfinished_processes() const;

  /// Returns: the failed writes and their reason; empty if there are none.
  [[nodiscard]] std::string failure() const;

private:
  int id_ = -1;
  recorder::recording_status* page_ = nullptr;
};

/// Returns: the reason why the recorder stopped before the program; `error` is the one in a trace's header.
[[nodiscard]] std::string describe_write_error(int error);

}  // namespace ashlar::cli
