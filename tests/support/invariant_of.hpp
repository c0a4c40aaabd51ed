// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The invariant of any object under test.
#pragma once

#include <concepts>

namespace ashlar_test {

/// Returns: whether the invariant of `object` holds; true if it has none.
template <class T>
[[nodiscard]] bool invariant_of(const T& object) {
  if constexpr (requires {
                  { object.invariant() } -> std::same_as<bool>;
                })
    return object.invariant();
  return true;
}

}  // namespace ashlar_test
