// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of libraries: other code may come to their addresses.
#include "cli/preload/interpose.hpp"
#include "cli/preload/stack_walk.hpp"

namespace ashlar::recorder {

namespace {

constinit next_symbol<int (*)(void*)> next_dlclose("dlclose");

}  // namespace

}  // namespace ashlar::recorder

namespace recorder = ashlar::recorder;

extern "C" {

ASHLAR_EXPORT int dlclose(void* library) noexcept {
  const int result = recorder::next_dlclose.get()(library);
  const recorder::inside_recorder inside;  // a signal handler must not wait for the lock of the rules
  recorder::forget_rules();
  return result;
}

}  // extern "C"
