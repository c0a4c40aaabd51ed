// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The probable meaning of a mistyped word.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

/// Returns: "; did you mean 'WORD'?" with the nearest of `known`, or nothing if none is near.
[[nodiscard]] std::string suggestion(const std::string& word, const std::vector<std::string>& known);

}  // namespace ashlar::cli
