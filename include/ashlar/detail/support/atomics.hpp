// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The atomics policy of lock-free parts: it lets model checkers compile the shipped files.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// The atomics of the standard library. A model checker substitutes a policy of the same shape with observed objects.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  /// Shared data that is not atomic: the algorithm guarantees that accesses never race.
  template <class T>
  using plain = T;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
