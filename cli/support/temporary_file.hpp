// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file without a name, for data of this process and those that it starts.
#pragma once

#include <cstddef>
#include <span>
#include <string>

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

}  // namespace ashlar::cli
