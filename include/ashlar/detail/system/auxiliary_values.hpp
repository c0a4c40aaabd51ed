// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernel tells a program at its start, by the number of an entry: asked of the C library once.
#pragma once

#include <ashlar/base/config.hpp>

#if defined(__linux__) && ASHLAR_POSIX
#include <sys/auxv.h>

#include <ashlar/detail/support/atomics.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// An entry. Later calls of `get` read what the first one has found, as the C library's function is one that another
/// library may stand in front of. Constant-initialised. Thread safety: any thread; async-signal-safe.
template <unsigned long Type>
class auxiliary_value {
public:
  /// Returns: the value, or 0 without one.
  [[nodiscard]] static unsigned long get() noexcept {
    unsigned long known = known_.load(memory_order_relaxed);
    if (known == 0) known_.store(known = ::getauxval(Type), memory_order_relaxed);
    return known;
  }

private:
  static inline constinit atomic<unsigned long> known_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif
