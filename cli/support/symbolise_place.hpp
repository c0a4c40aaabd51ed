// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The place of a call in the source of a program.
#pragma once

#include <string>

namespace ashlar::cli {

/// The place of a call. Unknown members are empty, or 0.
struct source_place {
  std::string function;  ///< Demangled; "module+0xoffset" if unknown.
  std::string whole;     ///< The same with its template arguments; empty if unknown.
  std::string file;      ///< Its name without directories.
  int line = 0;
  std::string module;  ///< File name of the program or library.

  /// Returns: "function (file:line)", or "function (module)".
  [[nodiscard]] std::string str() const;
};

/// Returns: whether a function belongs to the allocator, the recorder or the standard library.
[[nodiscard]] bool is_library_place(const source_place& place);

}  // namespace ashlar::cli
