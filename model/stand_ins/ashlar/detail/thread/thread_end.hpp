// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a model ends its threads explicitly, and no library is closed.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

struct thread_end {
  static void hold_library() noexcept {}
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
