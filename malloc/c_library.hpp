// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What differs between C libraries. A library that was built with glibc also runs over musl, whose loader takes itself
// for libc.so.6: of the names that musl lacks, each one is bound weakly.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

extern "C" {
__attribute__((weak)) const char* ashlar_glibc_version() noexcept __asm__("gnu_get_libc_version");
// In glibc before 2.34 another library has it; a static program takes none out of libc.a for a weak reference.
__attribute__((weak)) void* dlsym(void* handle, const char* name) noexcept;
}

namespace ashlar::drop_in {

/// Returns: the environment, for a constructor. glibc passes it on, before `environ` is set; musl passes nothing. A
/// static program, which need not have the name of glibc, has set `environ` by then.
[[nodiscard]] inline const char* const* environment_at_start(char** passed) noexcept {
  return &ashlar_glibc_version != nullptr ? passed : ::environ;
}

/// Returns: the function of that name behind this library, or null.
template <class Function>
[[nodiscard]] inline Function* find_next(const char* name) noexcept {
  return &::dlsym != nullptr ? reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name)) : nullptr;
}

}  // namespace ashlar::drop_in
