// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a file is the recorded program, for verbs that run it again.
#pragma once

#include <string>

#include "cli/report/trace.hpp"

namespace ashlar::cli {

/// Returns: the build id of the recorded program; empty if it has none.
[[nodiscard]] std::string recorded_build(const trace_input& input);

/// Throws: `std::runtime_error` with both build ids, if that of the file is another one than the recorded one. Without
/// a recorded build id nothing is refused.
void refuse_other_build(const trace_input& input, const std::string& file);

/// Returns: that nothing shows whether the file is the recorded program; empty if its build id does.
[[nodiscard]] std::string unknown_build_note(const trace_input& input, const std::string& file);

}  // namespace ashlar::cli
