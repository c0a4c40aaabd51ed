// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bump allocation in a few chunks, freed all at once, for C++11.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/cxx11/allocator_parts.hpp>
#include <ashlar/cxx11/config.hpp>

namespace ashlar {
namespace cxx11 {
inline namespace ASHLAR_CORE_ABI {

/// Freeing a single block does nothing: `reset`, `release` or the end of the arena frees all. Objects in it are not
/// destroyed. Complexity: O(1); one call. Thread safety: none.
class ASHLAR_CORE_API arena {
public:
  arena();
  /// The bytes of the first chunk, and a limit of the bytes that all chunks hold.
  explicit arena(std::size_t initial_bytes, std::size_t max_bytes = std::numeric_limits<std::size_t>::max());
  arena(const arena&) = delete;  // blocks point into it
  arena& operator=(const arena&) = delete;
  ~arena();

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t));
  /// Returns: a block, or null.
  void* try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept;

  /// Returns: an object whose destructor never runs.
  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible<T>::value, "an arena of C++11 runs no destructors");
    return ::new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  /// Effects: takes all blocks back and retains the memory, as one chunk.
  void reset() noexcept;
  /// Effects: gives all memory back.
  void release() noexcept;

  /// Returns: the bytes in use, padding included; the bytes that all chunks hold.
  std::size_t used() const noexcept;
  std::size_t held_bytes() const noexcept;

private:
  struct state;
  state* state_;  // in a cell of a pool
};

/// A std allocator over an arena, which outlives the containers.
template <class T>
class arena_allocator {
public:
  using value_type = T;
  using propagate_on_container_swap = std::true_type;

  arena_allocator(arena& memory) noexcept : arena_(&memory) {}
  template <class U>
  arena_allocator(const arena_allocator<U>& other) noexcept : arena_(&other.memory()) {}

  /// Throws: `std::bad_alloc`, also if the bytes of `n` objects overflow.
  T* allocate(std::size_t n) { return static_cast<T*>(arena_->allocate(array_bytes<T>(n), alignof(T))); }
  void deallocate(T*, std::size_t) noexcept {}

  arena& memory() const noexcept { return *arena_; }

  template <class U>
  friend bool operator==(const arena_allocator& a, const arena_allocator<U>& b) noexcept {
    return &a.memory() == &b.memory();
  }
  template <class U>
  friend bool operator!=(const arena_allocator& a, const arena_allocator<U>& b) noexcept {
    return &a.memory() != &b.memory();
  }

private:
  arena* arena_;
};

}  // namespace ASHLAR_CORE_ABI
}  // namespace cxx11
}  // namespace ashlar
