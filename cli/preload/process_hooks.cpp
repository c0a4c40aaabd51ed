// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// glibc links the public functions statically and exports others of its own; musl exports the public ones. So neither
// is bound: a missing symbol would keep the program from starting.
#include "cli/preload/process_hooks.hpp"

#include <dlfcn.h>

namespace ashlar::recorder {

namespace {

using plain_hook = void (*)();
using glibc_atfork = int (*)(plain_hook, plain_hook, plain_hook, void*);
using public_atfork = int (*)(plain_hook, plain_hook, plain_hook);
using glibc_quick_exit = int (*)(void (*)(void*), void*);
using public_quick_exit = int (*)(plain_hook);

template <class Function>
Function find(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

hook quick_exit_hook = nullptr;

void run_quick_exit_hook(void*) { quick_exit_hook(); }

}  // namespace

void on_fork_run(hook before, hook parent, hook child) noexcept {
  if (const auto glibc = find<glibc_atfork>("__register_atfork")) glibc(before, parent, child, nullptr);
  else if (const auto other = find<public_atfork>("pthread_atfork")) other(before, parent, child);
}

void on_quick_exit_run(hook end) noexcept {
  quick_exit_hook = end;
  if (const auto glibc = find<glibc_quick_exit>("__cxa_at_quick_exit")) glibc(run_quick_exit_hook, nullptr);
  else if (const auto other = find<public_quick_exit>("at_quick_exit")) other(end);
}

}  // namespace ashlar::recorder
