// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A directory for files of this run that goes away however the process ends.
#pragma once

#include <string>

#include <sys/types.h>

namespace ashlar::cli {

/// A new directory among the temporary files. A guard, which is a process in a session of its own, removes it as soon
/// as this process has ended, even by SIGKILL.
class scratch_directory {
public:
  /// Expects: no other thread. Throws: `std::runtime_error` if it cannot be made.
  scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  /// Effects: removes the directory and waits for its guard.
  ~scratch_directory();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

private:
  std::string path_;
  int life_ = -1;  // the guard reads its end
  pid_t guard_ = -1;
};

}  // namespace ashlar::cli
