// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns the addresses of a recorded program into functions and source lines, by libdw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ashlar/trace/tables.hpp>

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

/// Thread safety: one thread at a time.
class symboliser {
public:
  explicit symboliser(const std::vector<trace::mapped_module>& modules);
  symboliser(const symboliser&) = delete;
  symboliser& operator=(const symboliser&) = delete;
  ~symboliser();

  /// Returns: the place of the call that returns to `return_address`, and those of the calls in which it is inlined,
  /// innermost first; one at least. The last one has the function of the symbol table.
  [[nodiscard]] std::vector<source_place> inlined_places(std::uint64_t return_address) const;

  /// Returns: the places of a stack, innermost first, inlined calls too, without those of `is_library_place` in front,
  /// unless all are: the first one is the program's request.
  [[nodiscard]] std::vector<source_place> calls(std::span<const std::uint64_t> frames);

private:
  struct session;
  std::unique_ptr<session> session_;
};

}  // namespace ashlar::cli
