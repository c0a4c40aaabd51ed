// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size of a cell for a shared object together with the counts of its owners.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// A pointer to virtual functions and two counts.
inline constexpr std::size_t most_counting_bytes = sizeof(void*) + 2 * sizeof(long);
inline constexpr std::size_t counting_alignment = std::max(alignof(void*), alignof(long));

// The largest offset of an object of this alignment in its control block: after the counts, and after an allocator,
// which may share a class with the object and so have its alignment.
[[nodiscard]] constexpr std::size_t most_shared_offset(std::size_t alignment) noexcept {
  return align_up(most_counting_bytes, alignment) + align_up(sizeof(void*), alignment);
}

// Uninitialised bytes with the given alignment.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) bare_bytes {
  bare_bytes() noexcept {}  // leaves them uninitialised
  std::byte bytes[Bytes];
};

// No bytes, with the given alignment.
template <std::size_t Alignment>
struct alignas(Alignment) no_bytes {};

// Serves one request from a buffer, and notes its size. As large as an allocator that refers to a pool.
template <class T, class Buffer>
class measuring_allocator {
public:
  using value_type = T;
  using is_always_equal = std::false_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  template <class U>
  struct rebind {
    using other = measuring_allocator<U, Buffer>;
  };

  explicit measuring_allocator(Buffer* buffer) noexcept : buffer_(buffer) {}
  template <class U>
  measuring_allocator(const measuring_allocator<U, Buffer>& other) noexcept : buffer_(other.buffer()) {}

  [[nodiscard]] T* allocate(std::size_t) noexcept {
    static_assert(sizeof(T) <= sizeof(Buffer::memory) && alignof(T) <= alignof(Buffer),
                  "this standard library counts the owners of shared objects in more bytes than expected");
    buffer_->asked = sizeof(T);
    return reinterpret_cast<T*>(buffer_->memory);
  }
  void deallocate(T*, std::size_t) noexcept {}

  [[nodiscard]] Buffer* buffer() const noexcept { return buffer_; }
  template <class U>
  [[nodiscard]] friend bool operator==(const measuring_allocator& a, const measuring_allocator<U, Buffer>& b) noexcept {
    return a.buffer() == b.buffer();
  }

private:
  Buffer* buffer_;
};

// Returns: the actual offset of an object of this alignment in its control block.
template <std::size_t Alignment>
[[nodiscard]] std::size_t shared_offset() {
  constexpr std::size_t unit = std::max(Alignment, counting_alignment);
  struct alignas(unit) buffer {
    std::byte memory[most_shared_offset(unit) + unit];
    std::size_t asked;
  };
  using sample = bare_bytes<unit, Alignment>;
  buffer here;
  static_cast<void>(std::allocate_shared<sample>(measuring_allocator<sample, buffer>(&here)));
  return here.asked - sizeof(sample);
}

// The alignment that a library may use for an object in a control block: on 32 bits a number alone has a larger one
// than in a struct.
template <class T>
inline constexpr std::size_t shared_object_alignment =
    std::is_scalar_v<T> ? std::max(alignof(T), natural_alignment(sizeof(T))) : alignof(T);

/// A type that replaces `T` in a control block without a change of its layout, and does nothing.
template <class T>
using shared_stand_in =
    std::conditional_t<std::is_scalar_v<T>, std::remove_cv_t<T>,
                       std::conditional_t<std::is_empty_v<T> && !std::is_final_v<T>, detail::no_bytes<alignof(T)>,
                                          detail::bare_bytes<sizeof(T), alignof(T)>>>;

/// The alignment of a cell for `allocate_shared_pooled<T>(pool, …)`.
template <class T>
inline constexpr std::size_t shared_cell_alignment =
    std::max(detail::shared_object_alignment<T>, detail::counting_alignment);

/// An upper bound for every standard library: for pools with a constant cell size.
template <class T>
inline constexpr std::size_t most_shared_cell_bytes =
    align_up(detail::most_shared_offset(detail::shared_object_alignment<T>) + sizeof(T), shared_cell_alignment<T>);

/// Returns: the bytes of a cell for `allocate_shared_pooled<T>(pool, …)`: a `T` and this standard library's control
/// block, with a size that only a request to an allocator shows. Allocates nothing.
template <class T>
[[nodiscard]] std::size_t shared_cell_bytes() {
  return align_up(detail::shared_offset<detail::shared_object_alignment<T>>() + sizeof(T), shared_cell_alignment<T>);
}

/// Returns: options for a pool of shared `T`s.
///
///     ashlar::block_pool pool(ashlar::shared_cell_options<session>());
template <class T>
[[nodiscard]] block_pool_options shared_cell_options() {
  return {.cell_bytes = shared_cell_bytes<T>(), .cell_alignment = shared_cell_alignment<T>};
}

}  // namespace ashlar::ASHLAR_ABI::detail
