// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The processes of a tree as one report.
#pragma once

#include <string>

#include "cli/report/data.hpp"
#include "cli/tree/tree.hpp"

namespace ashlar::cli {

/// Returns: the sums of all processes, or of those with the program of the one that `wish` names. A peak is of one
/// process, the greatest. Throws: `std::runtime_error` if there is no such process.
[[nodiscard]] report_data merged_report(const process_tree& tree, const std::string& wish);

}  // namespace ashlar::cli
