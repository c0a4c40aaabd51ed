// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stateless std allocator for single objects from process-wide pools, for C++11.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/cxx11/allocator_parts.hpp>
#include <ashlar/cxx11/config.hpp>
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
class pool_allocator : public always_equal<pool_allocator> {
public:
  using value_type = T;

  pool_allocator() noexcept {}
  template <class U>
  pool_allocator(const pool_allocator<U>&) noexcept {}

  /// Throws: `std::bad_alloc`, also if the bytes of `n` objects overflow.
  T* allocate(std::size_t n) {
    if (n == 1) return static_cast<T*>(pool<sizeof(T), alignof(T)>::allocate());
    static_assert(alignof(T) <= alignof(std::max_align_t), "operator new of C++11 aligns no further");
    return static_cast<T*>(::operator new(array_bytes<T>(n)));
  }

  /// Expects: `p` came from `allocate(n)` with the same `n`.
  void deallocate(T* p, std::size_t n) noexcept {
    if (n == 1) pool<sizeof(T), alignof(T)>::deallocate(p);
    else ::operator delete(p);
  }
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
