// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of libraries: other code may come to their addresses.
#include "cli/preload/interpose.hpp"

namespace ashlar::recorder {

namespace {

constinit next_symbol<int (*)(void*)> next_dlclose("dlclose");

}  // namespace

}  // namespace ashlar::recorder

namespace recorder = ashlar::recorder;

extern "C" {

ASHLAR_EXPORT int dlclose(void* library) noexcept {
  recorder::note_modules();  // what goes is in the trace before
  const int result = recorder::next_dlclose.get()(library);
  recorder::note_modules();
  return result;
}

}  // extern "C"
