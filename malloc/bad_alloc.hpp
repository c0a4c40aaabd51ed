// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// new_handler and std::bad_alloc of the C++ library that the program has, if it has one.
#pragma once

namespace ashlar::drop_in {

/// Effects: calls the new_handler of the program. Returns: false if there is none. Throws: as the handler.
[[nodiscard]] bool call_new_handler();

/// Throws: `std::bad_alloc`, as the C++ library of the program. Without such a library the process ends with a message.
[[noreturn]] void throw_bad_alloc();

/// Returns: a function of the C++ library that the program has opened after its start, which then stays loaded; null
/// without such a library.
[[nodiscard]] void* find_in_late_library(const char* name) noexcept;

}  // namespace ashlar::drop_in
