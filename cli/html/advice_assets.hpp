// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files of cli/html/advice/ as text, compiled into the command: embed.cmake writes the definitions.
#pragma once

#include <string_view>

namespace ashlar::cli {

[[nodiscard]] std::string_view advice_style() noexcept;
[[nodiscard]] std::string_view advice_script() noexcept;

}  // namespace ashlar::cli
