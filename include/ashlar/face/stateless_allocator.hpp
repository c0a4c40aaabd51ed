// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A std allocator without data, over a process-wide resource.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// A standard allocator that takes no room in a container and needs no argument. Every trait is explicit:
///
///     std::vector<double, ashlar::stateless_allocator<double, ashlar::page_resource>> samples;
///
/// | trait | value | because |
/// |---|---|---|
/// | is_always_equal | true | there is one resource |
/// | propagate_on_container_copy_assignment, _move_assignment, _swap | false | nothing to carry over |
/// | select_on_container_copy_construction | a copy | the same resource |
///
/// The trap that this type excludes: `is_always_equal` defaults to `is_empty`. An empty allocator that finds its
/// resource through a thread-local variable thus claims to be equal to one that finds another resource, and a moved
/// container silently frees to the wrong pool. Hence the concept `process_wide_resource`, which a resource declares
/// for itself. All others take `allocator`, one pointer wide.
///
/// Thread safety: the resource's.
template <class T, process_wide_resource R>
class stateless_allocator {
public:
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::false_type;
  using propagate_on_container_swap = std::false_type;

  template <class U>
  struct rebind {
    using other = stateless_allocator<U, R>;
  };

  stateless_allocator() = default;
  template <class U>
  stateless_allocator(const stateless_allocator<U, R>&) noexcept {}

  /// Returns: memory for `n` objects. Throws: `std::bad_array_new_length` if `n * sizeof(T)` overflows; else as the
  /// resource.
  [[nodiscard]] ASHLAR_INLINE T* allocate(std::size_t n) {
    if (ASHLAR_UNLIKELY(n > max_size())) throw_bad_array_new_length();
    R resource;
    return static_cast<T*>(resource.allocate(n * sizeof(T), alignof(T)));
  }

  /// As `allocate(n)`. Returns: also the number of objects with room, if the resource can tell: `deallocate` takes any
  /// number from `n` to that.
  [[nodiscard]] ASHLAR_INLINE allocation_result<T*> allocate_at_least(std::size_t n) {
    if (ASHLAR_UNLIKELY(n > max_size())) throw_bad_array_new_length();
    R resource;
    const block got = ashlar::allocate_at_least_from(resource, n * sizeof(T), alignof(T));
    return {static_cast<T*>(got.data), got.size / sizeof(T)};
  }

  /// Expects: `p` came from `allocate(n)`, or `n` is a result of `allocate_at_least`.
  ASHLAR_INLINE void deallocate(T* p, std::size_t n) noexcept {
    R resource;
    resource.deallocate(p, n * sizeof(T), alignof(T));
  }

  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return max_block_bytes / sizeof(T); }

  template <class U>
  [[nodiscard]] friend bool operator==(const stateless_allocator&, const stateless_allocator<U, R>&) noexcept {
    return true;
  }
};

}  // namespace ashlar::ASHLAR_ABI
