// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In the place of the shipped file: a model's threads end by hand, and no library is closed.
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
