// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How large a cell must be for a shared object together with what counts its owners.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/block_pool.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

// A table of virtual functions and two counts.
inline constexpr std::size_t most_counting_bytes = sizeof(void*) + 2 * sizeof(long);
inline constexpr std::size_t counting_alignment = std::max(alignof(void*), alignof(long));

// How far behind the start of its control block an object of this alignment may lie: behind what counts, and then
// behind an allocator, which may share a class with the object and so be aligned as it is.
[[nodiscard]] constexpr std::size_t most_shared_offset(std::size_t alignment) noexcept {
  return align_up(most_counting_bytes, alignment) + align_up(sizeof(void*), alignment);
}

// Bytes without value that are aligned as asked.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) bare_bytes {
  bare_bytes() noexcept {}  // leaves them as they are
  std::byte bytes[Bytes];
};

// No bytes, aligned as asked.
template <std::size_t Alignment>
struct alignas(Alignment) no_bytes {};

// Serves one request from a buffer, and notes how large it was. As wide as an allocator that refers to a pool.
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

// Returns: how far behind the start of its control block an object of this alignment really lies.
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

// What a library may align an object to in a control block: on 32 bits a number alone to more than in a struct.
template <class T>
inline constexpr std::size_t shared_object_alignment =
    std::is_scalar_v<T> ? std::max(alignof(T), natural_alignment(sizeof(T))) : alignof(T);

/// A type that takes the place of `T` in a control block without a change of its layout, and does nothing.
template <class T>
using shared_stand_in =
    std::conditional_t<std::is_scalar_v<T>, std::remove_cv_t<T>,
                       std::conditional_t<std::is_empty_v<T> && !std::is_final_v<T>, detail::no_bytes<alignof(T)>,
                                          detail::bare_bytes<sizeof(T), alignof(T)>>>;

/// What a cell for `allocate_shared_pooled<T>(pool, …)` is aligned to.
template <class T>
inline constexpr std::size_t shared_cell_alignment =
    std::max(detail::shared_object_alignment<T>, detail::counting_alignment);

/// No standard library needs more bytes for it: for pools whose cell size is a constant.
template <class T>
inline constexpr std::size_t most_shared_cell_bytes =
    align_up(detail::most_shared_offset(detail::shared_object_alignment<T>) + sizeof(T), shared_cell_alignment<T>);

/// Returns: the bytes of a cell for `allocate_shared_pooled<T>(pool, …)`: what this standard library puts in front of a
/// `T`, which it tells to nobody but an allocator that it asks for memory, and the `T`. Allocates nothing.
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

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
