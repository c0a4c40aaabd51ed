// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dlopen and dlmopen without RTLD_DEEPBIND. That flag gives a library the C library's free for blocks of this malloc.
//
//     caller --> dlopen --jump--> dlopen of the C library, which sees the return address of the caller
//
// By its caller glibc finds DT_RUNPATH, $ORIGIN and the namespace, so these functions must leave no frame of their own.
#include <dlfcn.h>

#include "malloc/c_library.hpp"
#include "malloc/deep_binding.hpp"
#include "malloc/export.hpp"

// g++ before version 15 has no such attribute: -foptimize-sibling-calls does it, and the rule
// loading.from_folders_of_the_caller of tests/malloc fails where it does not.
#if __has_cpp_attribute(clang::musttail)
#define ASHLAR_JUMP [[clang::musttail]] return
#else
#define ASHLAR_JUMP return
#endif

namespace ashlar::drop_in {

namespace {

[[nodiscard]] int bound_as_all(int mode) noexcept { return keeps_deep_binding() ? mode : mode & ~RTLD_DEEPBIND; }

// In place of a function that the C library lacks.
void* open_nothing(const char*, int) noexcept { return nullptr; }
void* open_nothing_in(Lmid_t, const char*, int) noexcept { return nullptr; }

}  // namespace

}  // namespace ashlar::drop_in

extern "C" {

ASHLAR_EXPORT void* dlopen(const char* file, int mode) noexcept {
  using namespace ashlar::drop_in;
  auto* next = find_next<void*(const char*, int) noexcept>("dlopen");
  if (next == nullptr) next = open_nothing;
  ASHLAR_JUMP next(file, bound_as_all(mode));
}

// Another namespace has another C library, and no malloc but that one's.
ASHLAR_EXPORT void* dlmopen(Lmid_t space, const char* file, int mode) noexcept {
  using namespace ashlar::drop_in;
  auto* next = find_next<void*(Lmid_t, const char*, int) noexcept>("dlmopen");
  if (next == nullptr) next = open_nothing_in;
  ASHLAR_JUMP next(space, file, space == LM_ID_BASE ? bound_as_all(mode) : mode);
}

}  // extern "C"
