// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The start of libashlar in a static program, before all constructors; a shared library may have no such entry.
#include "malloc/settings.hpp"

// The linker keeps the order of the objects: one whose own entry installs handlers of forks that allocate comes later.
__attribute__((section(".preinit_array"), used)) void (*const ashlar_start_early)() = &ashlar::drop_in::start;
