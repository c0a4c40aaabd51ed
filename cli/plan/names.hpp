// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of buffers: as people read them, and as identifiers in the tables that programs compile in.
#pragma once

#include <string>
#include <vector>

#include <ashlar/plan/problem.hpp>

namespace ashlar::cli {

/// Returns: the buffer's name, or its id where the file had numbers.
[[nodiscard]] std::string name_of(const plan::problem& p, const std::vector<std::string>& names, std::size_t at);

/// Returns: whether C, C++ or a compiler that predefines macros knows the word as something else than a name.
[[nodiscard]] bool is_taken_word(const std::string& word);

/// Returns: `name` as an identifier of C and C++: what is no letter or digit becomes `_`, once for a run; a leading
/// digit gets one before it, a word that is taken one behind it. Empty if no letter or digit is in it.
[[nodiscard]] std::string identifier_of(const std::string& name);

/// Throws: `std::runtime_error` that tells which names have no identifier, or the same one.
void check_identifiers(const std::vector<std::string>& names);

}  // namespace ashlar::cli
