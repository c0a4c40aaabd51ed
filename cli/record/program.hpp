// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inspects a program's file for reasons why the recorder does not see its allocations.
#pragma once

#include <string>

namespace ashlar::cli {

enum class program_kind {
  ordinary,       ///< Or an unreadable file: nothing prevents recording it.
  is_static,      ///< No loader, so nothing is preloaded.
  is_privileged,  ///< Set-uid, set-gid or with capabilities: the loader preloads nothing.
  other_class,    ///< For a processor or word size other than the recorder's.
  own_malloc      ///< Defines malloc, which precedes the recorder's.
};

struct program_facts {
  program_kind kind = program_kind::ordinary;
  std::string path;  ///< The inspected ELF file; for a script its interpreter.
};

/// Returns: the facts about the file that `word` starts, found as a shell does.
[[nodiscard]] program_facts inspect_program(const std::string& word);

/// Returns: the reason why not all allocations of such a program are recorded, and a remedy; empty if it is ordinary.
[[nodiscard]] std::string describe(const program_facts& facts);

}  // namespace ashlar::cli
