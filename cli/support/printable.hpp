// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that a program gives, as text that a terminal does not obey.
#pragma once

#include <string>
#include <string_view>

namespace ashlar::cli {

/// Returns: the text with control characters as escapes: \n, \t, \x1b; characters of two bytes, from U+0080 to U+009F,
/// as
/// \u009b. Of its own result: the same.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace ashlar::cli
