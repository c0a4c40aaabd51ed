// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stateless std allocator for single objects from a process-wide pool.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/face/process_pool.hpp>
#include <ashlar/detail/support/allocation_result.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// A stateless allocator for every standard container. Single objects come from the process-wide pool for their size
/// and alignment, without overhead; arrays, and objects above 64 KiB, come from operator new.
///
///     std::list<int, ashlar::pool_allocator<int>> numbers;
///
/// | trait | value | because |
/// |---|---|---|
/// | is_always_equal | true | one pool serves all |
/// | propagate_on_container_copy_assignment, _move_assignment, _swap | false | nothing to carry over |
/// | select_on_container_copy_construction | a copy | the same pool |
///
/// Thread safety: any thread, with `thread_cached` (the default) or any lock. A lock is default-constructible at
/// compile time, as `std::mutex` is. With `one_thread` (or `null_lock`, the same pools) the first thread that uses any
/// container of one (size, alignment) is the only one that may: from level `checked` on the first call by another is
/// reported.
template <class T, policy::lock Lock>
class pool_allocator {
public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::false_type;
  using propagate_on_container_swap = std::false_type;

  template <class U>
  struct rebind {
    using other = pool_allocator<U, Lock>;
  };

  pool_allocator() = default;
  template <class U>
  pool_allocator(const pool_allocator<U, Lock>&) noexcept {}

  /// Returns: memory for `n` objects. Throws: `std::bad_alloc`; `std::bad_array_new_length` if `n * sizeof(T)`
  /// overflows.
  [[nodiscard]] ASHLAR_INLINE T* allocate(std::size_t n) {
    if (ASHLAR_LIKELY(is_pooled(n))) return static_cast<T*>(pool<T>::allocate());
    return static_cast<T*>(allocate_array(n));
  }

  /// As `allocate(n)`. Returns: also the number of objects with room, which is `n`: a cell has room for one, and
  /// operator new does not tell.
  [[nodiscard]] ASHLAR_INLINE detail::allocation_result<T*> allocate_at_least(std::size_t n) {
    return {allocate(n), n};
  }

  /// Expects: `p` came from `allocate(n)` with the same `n`.
  ASHLAR_INLINE void deallocate(T* p, std::size_t n) noexcept {
    if constexpr (checking_level >= checking::checked) check_free(p, n);
    if (ASHLAR_LIKELY(is_pooled(n))) pool<T>::deallocate(p);
    else new_delete_resource().deallocate(p, n * sizeof(T), alignof(T));
  }

  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return detail::max_block_bytes / sizeof(T); }

  /// Effects: calls `f(pool)` with the process-wide pool of this element type, under its lock if it has one: to
  /// `reserve`, to read `live`, to `trim`. Containers allocate nodes, not elements: rebind to the node type for theirs.
  template <class F>
  static decltype(auto) with_pool(F f) {
    return pool<T>::with_pool(f);
  }

  /// Effects: gives back this thread's cached cells for this element type; without `thread_cached` there are none. The
  /// end of a thread does the same.
  static void flush() noexcept
    requires std::same_as<Lock, thread_cached>
  {
    pool<T>::flush();
  }

  template <class U>
  [[nodiscard]] friend bool operator==(const pool_allocator&, const pool_allocator<U, Lock>&) noexcept {
    return true;
  }

private:
  static constexpr std::size_t largest_cell = 64 * 1024;

  // A template, so that the allocator can be named before `T` is complete.
  template <class U>
  using pool = detail::process_pool<sizeof(U), alignof(U), Lock>;

  [[nodiscard]] static ASHLAR_INLINE constexpr bool is_pooled(std::size_t n) noexcept {
    return n == 1 && sizeof(T) <= largest_cell;
  }

  // The pool checks a single object; memory freed as an array must not lie in a smaller cell of any pool.
  ASHLAR_NOINLINE static void check_free(const T* p, std::size_t n) noexcept {
    if (is_pooled(n)) return;
    const detail::cell_place place = detail::process_slabs.find(p);
    if (place.owner == nullptr || (n != 0 && n <= place.cell_bytes / sizeof(T))) return;
    if (n == 0 && !owns(p)) return;
    detail::report({.kind = fault::size_mismatch,
                    .what = "freed an object of a pool with another count than it was allocated with",
                    .pointer = p,
                    .owner = place.owner,
                    .expected = sizeof(T),
                    .got = n * sizeof(T),
                    .block_bytes = place.cell_bytes});
  }

  [[nodiscard]] static bool owns(const T* p) noexcept {
    return pool<T>::with_pool([p](auto& cells) { return cells.owns(p); });
  }

  [[nodiscard]] static ASHLAR_COLD void* allocate_array(std::size_t n) {
    if (n > max_size()) detail::throw_bad_array_new_length();
    return new_delete_resource().allocate(n * sizeof(T), alignof(T));
  }
};

}  // namespace ashlar::ASHLAR_ABI
