// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object that is made before the program starts and never destroyed.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Holds a `T` that outlives every object with static storage duration. Declare it `constinit`.
template <class T>
union immortal {
  constexpr immortal() noexcept : value() {}
  constexpr ~immortal() {}  // the value's destructor never runs
  immortal(const immortal&) = delete;
  immortal& operator=(const immortal&) = delete;

  T value;
};

}  // namespace ashlar::inline ASHLAR_ABI
