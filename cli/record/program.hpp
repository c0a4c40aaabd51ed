// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks into a program's file for the reasons why the recorder does not see its allocations.
#pragma once

#include <string>

namespace ashlar::cli {

enum class program_kind {
  ordinary,       ///< Or a file that could not be read: nothing speaks against recording it.
  is_static,      ///< No loader, so nothing is preloaded.
  is_privileged,  ///< Set-uid, set-gid or with capabilities: the loader preloads nothing.
  other_class,    ///< For processors or words other than the recorder's.
  own_malloc      ///< Defines malloc, which comes before the recorder's.
};

struct program_facts {
  program_kind kind = program_kind::ordinary;
  std::string path;  ///< The ELF file looked at; for a script its interpreter.
};

/// Returns: what is known about the file that `word` starts, looked up as a shell would.
[[nodiscard]] program_facts inspect_program(const std::string& word);

/// Returns: why nothing, or less than all, is recorded of such a program, and what can be done; empty if it is
/// ordinary.
[[nodiscard]] std::string describe(const program_facts& facts);

}  // namespace ashlar::cli
