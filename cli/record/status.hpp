// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page through which recorded processes tell `ashlar record` what their traces cannot.
#pragma once

#include <cstdint>
#include <string>

#include "cli/preload/status.hpp"

namespace ashlar::cli {

/// Where there is no memory for it, nothing is told, and nothing is missed by the recorded program.
class record_status {
public:
  record_status();
  record_status(const record_status&) = delete;
  record_status& operator=(const record_status&) = delete;
  ~record_status();

  /// Returns: by what the recorded processes find the page; empty if there is none.
  [[nodiscard]] std::string id() const;

  /// Returns: whether a process has begun a trace, as far as was told.
  [[nodiscard]] bool any_trace() const noexcept;

  /// Returns: what could not be written and why, empty if everything was.
  [[nodiscard]] std::string failure() const;

private:
  int id_ = -1;
  recorder::recording_status* page_ = nullptr;
};

/// Returns: why the recorder stopped before the program did; `error` is that of a trace's header.
[[nodiscard]] std::string describe_write_error(int error);

}  // namespace ashlar::cli
