// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What goes away however the process ends: a file without a name, a directory, and a process for a part of the work.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ashlar::cli {

/// A nameless file in the directory for temporary files.
class temporary_file {
public:
  /// Throws: `std::runtime_error` if it cannot be made.
  temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Throws: `std::runtime_error` if the disk is full or broken.
  void write(std::span<const std::byte> bytes);
  /// Effects: writes at the start of the file.
  void rewrite_start(std::span<const std::byte> bytes);

private:
  int descriptor_;
  std::string name_;  // for messages
};

/// A new directory, which a guard in a session of its own removes as soon as this process has ended, even by SIGKILL.
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

/// A part of the work as a process of this command.
struct own_part {
  std::vector<std::string> arguments = {};    ///< The first one is the name of the command.
  std::vector<std::string> environment = {};  ///< Entries "name=value".
  int from = -1;                              ///< A descriptor that the part has as `to`.
  int to = -1;
  int input = -1;  ///< A descriptor that the part has as standard input; -1: as this process has it.
};

/// Effects: starts the part, which is killed as soon as the calling thread ends, and waits for its end. Returns: its
/// status, as of `waitpid`. Throws: `std::runtime_error`.
[[nodiscard]] int run_self(own_part part);

}  // namespace ashlar::cli
