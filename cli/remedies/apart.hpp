// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that is as small as this one was when it was made: the kernel counts the memory of a process that starts a
// program into the program's peak.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

#include "cli/support/temporary_file.hpp"

namespace ashlar::cli {

/// Waits in the other process for one question. Without a question it ends with this object.
class process_apart {
public:
  /// Expects: no other threads. Throws: `std::runtime_error` if there can be no further process.
  explicit process_apart(const std::function<std::string(const std::string& question)>& answer);
  process_apart(const process_apart&) = delete;
  process_apart& operator=(const process_apart&) = delete;
  ~process_apart();

  /// Returns: the answer. Throws: `std::runtime_error` with the message of what `answer` threw, or if the process died.
  /// Expects: the first call.
  [[nodiscard]] std::string ask(const std::string& question);

private:
  [[noreturn]] void work(const std::function<std::string(const std::string&)>& answer, int question) noexcept;
  [[nodiscard]] int wait() noexcept;

  temporary_file answer_;
  pid_t process_ = -1;
  int question_ = -1;  // the end of a pipe that is written to
};

}  // namespace ashlar::cli
