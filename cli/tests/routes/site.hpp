// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions in assembler that call one function, so that the return address of the call has a name.
#pragma once

#include <cstddef>

/// Defines `void* name(std::size_t)`, which calls `callee` from a frame of `room` + 8 bytes, and `name_site` behind it.
#define ROUTE_SITE(name, callee, room)                                                               \
  extern "C" __attribute__((visibility("hidden"))) void* name(std::size_t bytes);                    \
  extern "C" __attribute__((visibility("hidden"))) const char name##_site[];                         \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n.globl " #name    \
          "_site\n.hidden " #name "_site\n" #name ":\n.cfi_startproc\nsub $" #room                   \
          ", %rsp\n.cfi_adjust_cfa_offset " #room "\ncall " #callee "\n" #name "_site:\nadd $" #room \
          ", %rsp\n.cfi_adjust_cfa_offset -" #room "\nret\n.cfi_endproc\n.size " #name ", .-" #name "\n")
