// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a model ends its threads explicitly, and no library is closed.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

struct thread_end {
  static void hold_library() noexcept {}
};

}  // namespace ashlar::ASHLAR_ABI::detail
