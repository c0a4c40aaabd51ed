// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a preloaded library costs a program that allocates next to nothing: to be linked, and to set itself up.
#pragma once

#include <vector>

#include "cli/try/prediction.hpp"

namespace ashlar::cli {

/// Effects: runs this command for its version, `rounds` times under each library and without, and notes the medians of
/// the differences. A replay does not see them: its clock starts when the library stands.
void add_loading(std::vector<prediction>& predictions, std::size_t rounds = 7);

}  // namespace ashlar::cli
