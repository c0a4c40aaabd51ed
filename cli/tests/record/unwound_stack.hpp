// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calling stack by the unwinder of the C++ library, which the recorder's walks are compared with, and its bounds.
#pragma once

#include <cstdint>
#include <vector>

#include <unwind.h>

#include "cli/preload/stack_walk.hpp"

namespace ashlar::recorder {

inline _Unwind_Reason_Code add_unwound_frame(_Unwind_Context* context, void* to) {
  if (const auto address = _Unwind_GetIP(context); address != 0)
    static_cast<std::vector<std::uint64_t>*>(to)->push_back(address);
  return _URC_NO_REASON;
}

/// Returns: the return addresses of the caller and of those beyond it.
[[gnu::noinline]] inline std::vector<std::uint64_t> unwound_stack() {
  std::vector<std::uint64_t> all;
  _Unwind_Backtrace(add_unwound_frame, &all);
  all.erase(all.begin(), all.begin() + 2);  // this function, and a place within its caller
  return all;
}

/// Returns: the bounds of the calling thread's stack, down to here.
[[gnu::noinline]] inline stack_bounds own_stack() {
  stack_bounds found;
  extend_stack(found, __builtin_frame_address(0));
  return found;
}

}  // namespace ashlar::recorder
