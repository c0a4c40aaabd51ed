// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of buffers: for people, and as identifiers in the tables that programs compile.
#pragma once

#include <string>
#include <vector>

#include <ashlar/base/problem.hpp>

namespace ashlar::cli {

/// Returns: the buffer's name, or its id if the file had numbers.
[[nodiscard]] std::string name_of(const plan::problem& p, const std::vector<std::string>& names, std::size_t at);

/// Returns: whether the word is a keyword of C or C++ or a predefined macro of a compiler.
[[nodiscard]] bool is_taken_word(const std::string& word);

/// Returns: `name` as an identifier of C and C++: a run of other characters than letters and digits becomes one `_`; a
/// leading digit gets one before it, a taken word one after it. Empty if `name` has no letter or digit.
[[nodiscard]] std::string identifier_of(const std::string& name);

/// Throws: `std::runtime_error` with the names that have no identifier, or the same one.
void check_identifiers(const std::vector<std::string>& names);

}  // namespace ashlar::cli
