// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Function names short enough for a line: demangled, without parameters, template arguments and return types.
#pragma once

#include <string>

namespace ashlar::cli {

/// Returns: "std::vector<…>::push_back" for the symbol of std::vector<int, std::allocator<int> >::push_back(int
/// const&). The omitted parts seldom distinguish two places, and always make lines too long.
[[nodiscard]] std::string short_function_name(const char* symbol);

/// Returns: the demangled symbol as it is, with template arguments and parameters.
[[nodiscard]] std::string whole_function_name(const char* symbol);

}  // namespace ashlar::cli
