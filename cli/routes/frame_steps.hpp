// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a router comes from a frame to its caller without an unwinder: offsets from the tables of exceptions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/support/elf_file.hpp"

namespace ashlar::cli {

/// The canonical frame address at a return address: rsp or rbp, plus an offset.
struct frame_step {
  bool from_rbp = false;
  std::uint64_t cfa_offset = 0;
  std::uint64_t rbp_offset = 0;  ///< Of the caller's rbp below it; 0: rbp is unchanged.
};

/// Reads the steps of files, and where their code is. It keeps them open.
class frame_steps {
public:
  /// Returns: the step of the function that is called from before `offset`, a return address less the load bias;
  /// nothing if the file has no table for it, or if its frame is of another form.
  [[nodiscard]] std::optional<frame_step> at(const std::string& path, std::uint64_t offset);

  /// Returns: whether a call may return to `offset`: the byte in front of it lies in an executable segment of the file.
  /// Throws: `std::runtime_error` if it is not a file of the ELF format that can be read.
  [[nodiscard]] bool is_code(const std::string& path, std::uint64_t offset);

private:
  [[nodiscard]] const elf_file& opened(const std::string& path);

  std::map<std::string, std::unique_ptr<elf_file>> files_;
};

}  // namespace ashlar::cli
