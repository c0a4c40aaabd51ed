// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Starts the command again, for a part of its work.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace ashlar::cli {

/// A part of the work as a process of its own.
struct own_part {
  std::vector<std::string> arguments = {};    ///< The first one is the name of the command.
  std::vector<std::string> environment = {};  ///< Entries "name=value".
  int from = -1;                              ///< A descriptor that the part has as `to`.
  int to = -1;
  int input = -1;  ///< A descriptor that the part has as standard input; -1: that of this process.
};

/// Effects: starts the part, which is killed as soon as the calling thread ends: a command that is ended leaves none
/// behind. Returns: its process id. Throws: `std::runtime_error`.
[[nodiscard]] pid_t start_self(own_part& part);

}  // namespace ashlar::cli
