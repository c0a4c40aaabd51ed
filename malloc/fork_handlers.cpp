// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// pthread_atfork of a shared library that was built with glibc. The one of glibc would be linked into it, and calls
// what musl lacks.
#include <cerrno>

#include <pthread.h>

#include <ashlar/base/config.hpp>

#include "malloc/c_library.hpp"

extern "C" {

extern ASHLAR_OF_THIS_LIBRARY void* __dso_handle;
__attribute__((weak)) int ashlar_register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(),
                                                 void* library) noexcept __asm__("__register_atfork");

ASHLAR_OF_THIS_LIBRARY int pthread_atfork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  if (&ashlar_register_atfork != nullptr) return ashlar_register_atfork(before, in_parent, in_child, &__dso_handle);
  const auto of_libc = ashlar::drop_in::find_next<int(void (*)(), void (*)(), void (*)())>("pthread_atfork");
  return of_libc != nullptr ? of_libc(before, in_parent, in_child) : ENOMEM;
}

}  // extern "C"
