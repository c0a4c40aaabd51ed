// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One misuse in a child process with a deadline, and its outcome.
#pragma once

#include <string>
#include <vector>

#include "tests/death/matrix/subject.hpp"

namespace fault_matrix {

/// The outcome of a misuse, and the report of each of its variants, empty where there is none.
struct entry {
  std::string outcome;
  std::vector<std::string> sentences;
};

/// Returns: the entry of the matrix: `double_free` and the like, reported by the call; `later: <kind>`; `at the write`
/// if the memory was unmapped and the culprit's own instruction ended the process; `allowed` by contract; `unseen`;
/// `signal` if the process died without a report; `hang`; `-` if the misuse cannot be expressed; `undefined` at `fast`,
/// which promises nothing.
[[nodiscard]] entry entry_of(const interface& of, misuse kind);

}  // namespace fault_matrix
