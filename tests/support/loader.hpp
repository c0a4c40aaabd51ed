// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a program opens libraries while it runs; in C's part of C++, as programs over any C library may include it.
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

namespace ashlar_test {

/// Effects: ends a program that opens no library with status 77, which means skipped, and the reason on standard
/// output. Such a program is linked statically with musl, which has no loader then: it cannot even open itself.
inline void skip_without_loader() {
  if (void* const self = ::dlopen(nullptr, RTLD_NOW); self != nullptr) {
    ::dlclose(self);
    return;
  }
  ::printf("skipped: this program is linked statically and opens no library: %s\n", ::dlerror());
  ::exit(77);
}

}  // namespace ashlar_test
