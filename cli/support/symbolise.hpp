// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns the addresses of a recorded program into functions and source lines, by libdw.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ashlar/base/trace_tables.hpp>

namespace ashlar::cli {

/// The place of a call. Unknown members are empty, or 0.
struct source_place {
  std::string function;  ///< Demangled; "module+0xoffset" if unknown.
  std::string whole;     ///< The same with its template arguments; empty if unknown.
  std::string file;      ///< Its name without directories.
  int line = 0;
  const std::string* path = nullptr;           ///< Of the file, in the folder of the compilation; null: unknown.
  bool has_source = false;                     ///< The file is there, and not newer than the module.
  std::string module;                          ///< File name of the program or library.
  std::uint64_t address = 0;                   ///< The return address in the module.
  std::uint64_t code_begin = 0, code_end = 0;  ///< Of the function of the symbol table, in the module.

  /// Returns: "function (file:line)", or "function (module)".
  [[nodiscard]] std::string str() const;

  /// Returns: the line of the source, shortened; empty if it has none. Complexity: O(bytes before it).
  [[nodiscard]] std::string code() const;
};

/// Returns: whether a function belongs to the allocator or the recorder.
[[nodiscard]] bool is_allocator_place(const source_place& place);

/// Returns: the same, or to the standard library of C++.
[[nodiscard]] bool is_library_place(const source_place& place);

/// Returns: whether a function belongs to the C library or the dynamic linker.
[[nodiscard]] bool is_c_library_place(const source_place& place);

/// Returns: whether the file has no name for the function.
[[nodiscard]] bool is_unnamed(const source_place& place);

/// Returns: a line that tells why functions of these modules are offsets, and the way to their names; empty for none.
[[nodiscard]] std::string unnamed_note(const std::set<std::string>& modules);

class named_file;

/// Names each address of each file once, whichever trace has it. Thread safety: one thread at a time.
class symboliser {
public:
  symboliser();
  symboliser(const symboliser&) = delete;
  symboliser& operator=(const symboliser&) = delete;
  ~symboliser();

  /// Returns: the place of the call that returns to `return_address`, one in the file `path`, and the places of the
  /// calls in which it is inlined, innermost first; one at least. The last one has the function of the symbol table.
  /// They last as long as the symboliser. A file of another build than `build_id`, unless that is empty, has no names.
  [[nodiscard]] const std::vector<source_place>& places(const std::string& path, const std::string& build_id,
                                                        std::uint64_t return_address);

  /// Returns: the places of a frame of a stack, as above. Expects: the same modules each time.
  [[nodiscard]] const std::vector<source_place>& places(std::uint64_t frame,
                                                        std::span<const trace::mapped_module> modules);

  /// Returns: the places of a stack, innermost first, inlined calls too. Expects: the same modules each time.
  [[nodiscard]] std::vector<const source_place*> calls(std::span<const std::uint64_t> frames,
                                                       std::span<const trace::mapped_module> modules);

  /// Effects: names all calls of all stacks, so that `calls` finds them at once.
  void look_up(const trace::stack_table& stacks, std::span<const trace::mapped_module> modules);

  /// Returns: for each file with missing or incomplete names a line that tells why; not of those without any.
  [[nodiscard]] std::vector<std::string> notes() const;

private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<named_file>> files_;  // by path and build id
  std::unordered_map<std::uint64_t, const std::vector<source_place>*> by_frame_;      // of stacks
};

}  // namespace ashlar::cli
