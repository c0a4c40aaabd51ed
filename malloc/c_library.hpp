// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What differs between C libraries. A library that was built with glibc also runs over musl, whose loader takes itself
// for libc.so.6: of the names that musl 1.2.2 lacks, each one is bound weakly.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

extern "C" {
// In glibc before 2.34 another library has it; a static program takes none out of libc.a for a weak reference.
__attribute__((weak)) void* dlsym(void* handle, const char* name) noexcept;
}

namespace ashlar::drop_in {

/// Returns: the environment, for a constructor. glibc passes it on to a library that is initialised before itself, when
/// `environ` is not set yet; musl has set it, and passes nothing.
[[nodiscard]] inline const char* const* environment_at_start(char** passed) noexcept {
  return ::environ != nullptr ? ::environ : passed;
}

/// Returns: the function of that name behind this library, or null.
template <class Function>
[[nodiscard]] inline Function* find_next(const char* name) noexcept {
  return &::dlsym != nullptr ? reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name)) : nullptr;
}

}  // namespace ashlar::drop_in
