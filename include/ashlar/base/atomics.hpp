// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The atomics policy: where lock-free parts take their atomics from, so that model checkers compile the shipped files.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// The atomics of the standard library. A model checker brings a policy of the same shape whose objects it watches.
struct std_atomics {
  template <class T>
  using atomic = std::atomic<T>;
  /// What threads share without an atomic: the algorithm promises that accesses never race.
  template <class T>
  using plain = T;
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
