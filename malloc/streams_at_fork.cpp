// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handlers of forks that hold glibc's list of streams.
#include "malloc/start.hpp"

#include <pthread.h>

#include <ashlar/base/platform.hpp>

// Exported by glibc for the C++ library of long ago. Weak: a static program may have no streams.
extern "C" {
__attribute__((weak)) void ashlar_lock_streams() noexcept __asm__("_IO_list_lock");
__attribute__((weak)) void ashlar_unlock_streams() noexcept __asm__("_IO_list_unlock");
__attribute__((weak)) void ashlar_reset_streams() noexcept __asm__("_IO_list_resetlock");
}

namespace ashlar::drop_in {

namespace {

constinit bool is_installed = false;
constinit bool is_held = false;  // by the present fork; written and read under the lock, or by the only thread

void before_fork() {
  if (detail::is_only_thread()) return static_cast<void>(is_held = false);
  ashlar_lock_streams();
  is_held = true;
}

void after_fork_in_parent() {
  if (is_held) ashlar_unlock_streams();
}

// `fork` itself has reset the lock of a child that had more threads, so an unlock would be one too many.
void after_fork_in_child() {
  if (is_held) ashlar_reset_streams();
}

}  // namespace

void hold_streams_over_forks() noexcept {
  if (is_installed || &ashlar_lock_streams == nullptr || &ashlar_unlock_streams == nullptr ||
      &ashlar_reset_streams == nullptr)
    return;
  is_installed = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

}  // namespace ashlar::drop_in
