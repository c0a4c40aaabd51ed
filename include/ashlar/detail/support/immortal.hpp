// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object that is made before the program starts and never destroyed.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Holds a `T` whose destructor never runs.
template <class T>
union immortal {
  constexpr immortal() noexcept : value() {}
  constexpr ~immortal() {}  // the value's destructor never runs
  immortal(const immortal&) = delete;
  immortal& operator=(const immortal&) = delete;

  T value;
};

/// One `T` for the process, constant-initialised, usable before `main` and after it.
template <class T>
constinit inline immortal<T> immortal_instance;

}  // namespace ashlar::ASHLAR_ABI::detail
