// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value of --budget.
#pragma once

#include <string>

namespace ashlar::cli {

/// Returns: the seconds that "60", "60s" or "2m" are; negative for other texts, and outside of 0 to 1e6 s.
[[nodiscard]] double budget_seconds(const std::string& text);

}  // namespace ashlar::cli
