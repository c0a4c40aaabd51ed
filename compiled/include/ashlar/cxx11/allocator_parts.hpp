// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common parts of the allocators for C++11.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

#include <ashlar/cxx11/config.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// Returns: the bytes of `n` objects. Throws: `std::bad_array_new_length` if they overflow.
template <class T>
std::size_t array_bytes(std::size_t n) {
  if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw_bad_array_new_length();
  return n * sizeof(T);
}

/// The base of a stateless `Allocator<T>`, which equals every `Allocator<U>`.
template <template <class> class Allocator>
struct always_equal {
  using is_always_equal = std::true_type;

  friend bool operator==(const always_equal&, const always_equal&) noexcept { return true; }
  friend bool operator!=(const always_equal&, const always_equal&) noexcept { return false; }
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
