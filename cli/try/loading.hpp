// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a preloaded library for a program with few allocations: linking, and its own start.
#pragma once

#include <vector>

#include "cli/try/prediction.hpp"

namespace ashlar::cli {

/// Effects: runs this command with `--version`, `rounds` times under each library and without, and stores the medians
/// of the differences. A replay does not see them: its clock starts when the library is ready.
void add_loading(std::vector<prediction>& predictions, std::size_t rounds = 7);

}  // namespace ashlar::cli
