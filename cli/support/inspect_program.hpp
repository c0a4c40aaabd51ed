// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inspects a program's file for reasons why a preloaded library does not see its allocations.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

enum class program_kind {
  ordinary,       ///< Or an unreadable file: nothing is in the way.
  is_static,      ///< No loader, so nothing is preloaded.
  is_privileged,  ///< Set-uid, set-gid or with capabilities: the loader preloads nothing.
  other_class,    ///< For a processor or word size other than this command's.
  own_malloc,     ///< Defines malloc, which precedes the malloc of a library.
  is_sanitized,   ///< Built with a sanitizer of addresses, memory or threads, which has a malloc of its own.
  is_over_musl    ///< Its C library is musl: it does not load what needs names of glibc.
};

struct program_facts {
  program_kind kind = program_kind::ordinary;
  std::string path;  ///< The inspected ELF file; for a script its interpreter.
};

/// Returns: the words that the kernel gives the process of a command: of a script its interpreter's, before its path.
[[nodiscard]] std::vector<std::string> words_of_process(const std::vector<std::string>& command);

/// Returns: the facts about the file that `word` starts, found as a shell does.
[[nodiscard]] program_facts inspect_program(const std::string& word);

/// The library to preload, in words.
struct preloaded_tool {
  const char* name;  ///< "the recorder".
  const char* use;   ///< Of the program, with it: "record".
  bool needs_glibc = true;
};

/// Returns: the reason why the tool does not get all allocations of such a program, and a remedy; empty if it does.
[[nodiscard]] std::string describe(const program_facts& facts, const preloaded_tool& tool);

/// Returns: whether the program may run with a preloaded library that sees no call of it.
[[nodiscard]] constexpr bool has_own_malloc(program_kind kind) noexcept {
  return kind == program_kind::own_malloc || kind == program_kind::is_sanitized;
}

}  // namespace ashlar::cli
