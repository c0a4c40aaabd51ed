// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heap of the process, for C++11.
#pragma once

#include <cstddef>

#include <ashlar/cxx11/allocator_parts.hpp>
#include <ashlar/cxx11/config.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// One heap for blocks of all sizes. It serves before every constructor and after every destructor.
/// Complexity: O(1); one call. Thread safety: any thread.
struct ASHLAR_CORE_API process_heap {
  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  static void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t));
  /// Returns: a block, or null.
  static void* try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept;
  /// As `try_allocate`, zeroed.
  static void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept;
  /// Returns: the block with `new_bytes`, moved where it must be; null, and the block stays as it is. Null is a block
  /// of no bytes.
  static void* try_reallocate(void* p, std::size_t new_bytes,
                              std::size_t alignment = alignof(std::max_align_t)) noexcept;
  /// Does nothing with null.
  static void deallocate(void* p) noexcept;
  /// The same, faster. Expects: `bytes` and `alignment` are those that were asked for.
  static void deallocate(void* p, std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept;
  /// Returns: the bytes of the block, at least those asked for.
  static std::size_t usable_size(const void* p) noexcept;
  /// Effects: gives free pages back to the system. Returns: their bytes.
  static std::size_t trim() noexcept;
};

/// A stateless std allocator over it.
template <class T>
class heap_allocator : public always_equal<heap_allocator> {
public:
  using value_type = T;

  heap_allocator() noexcept {}
  template <class U>
  heap_allocator(const heap_allocator<U>&) noexcept {}

  /// Throws: `std::bad_alloc`, also if the bytes of `n` objects overflow.
  T* allocate(std::size_t n) { return static_cast<T*>(process_heap::allocate(array_bytes<T>(n), alignof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { process_heap::deallocate(p, n * sizeof(T), alignof(T)); }
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
