// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of functions as their developers spell them: of the symbol table, without what a reader skips.
#pragma once

#include <string>

namespace ashlar::cli {

/// Returns: the demangled symbol as it is, with template arguments and parameters.
[[nodiscard]] std::string whole_function_name(const char* symbol);

/// Returns: "Message::Create<Token>" for Message::Create<Token>(int), a demangled name. Short template arguments stay,
/// with the standard library's types by their usual names; long ones, and all of the standard library's own functions,
/// become "<…>". Parameters, return types, suffixes of a compiler's copies and Rust's hashes are left out.
[[nodiscard]] std::string short_function_name(const std::string& whole);

/// Returns: the same with all template arguments.
[[nodiscard]] std::string long_function_name(const std::string& whole);

/// Returns: a short name with "<…>" for template arguments: the functions that one template makes have one.
[[nodiscard]] std::string function_family(const std::string& function);

/// Returns: whether a function of that name hands memory out, by the word: "xmalloc", "pool::allocate".
[[nodiscard]] bool is_allocation_name(const std::string& function);

}  // namespace ashlar::cli
