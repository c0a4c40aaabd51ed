// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stateless std allocator for single objects from process-wide pools, for C++11.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#include <ashlar/cxx11/pool.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// An allocator for every standard container. Single objects come from the pool of their size, arrays from operator
/// new.
///
///     std::list<int, ashlar::cxx11::pool_allocator<int>> numbers;
///
/// Thread safety: any thread.
template <class T>
class pool_allocator {
public:
  using value_type = T;
  using is_always_equal = std::true_type;

  pool_allocator() noexcept {}
  template <class U>
  pool_allocator(const pool_allocator<U>&) noexcept {}

  /// Throws: `std::bad_alloc`, also if the bytes of `n` objects overflow.
  T* allocate(std::size_t n) {
    if (n == 1) return static_cast<T*>(pool<sizeof(T), alignof(T)>::allocate());
    static_assert(alignof(T) <= alignof(std::max_align_t), "operator new of C++11 aligns no further");
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw_bad_array_new_length();
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }

  /// Expects: `p` came from `allocate(n)` with the same `n`.
  void deallocate(T* p, std::size_t n) noexcept {
    if (n == 1) pool<sizeof(T), alignof(T)>::deallocate(p);
    else ::operator delete(p);
  }

  template <class U>
  friend bool operator==(const pool_allocator&, const pool_allocator<U>&) noexcept {
    return true;
  }
  template <class U>
  friend bool operator!=(const pool_allocator&, const pool_allocator<U>&) noexcept {
    return false;
  }
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
