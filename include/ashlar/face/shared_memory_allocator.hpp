// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A standard allocator for containers inside shared memory.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/face/offset_ptr.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// Whether objects of the type hold addresses of one process: pointers, and the nodes of libstdc++'s `list`, `map`,
/// `set` and unordered containers, which link by plain pointers regardless of the allocator.
template <class T>
concept links_by_address =
    std::is_pointer_v<T> || requires(T& node) { requires std::is_pointer_v<decltype(node._M_next)>; } ||
    requires(T& node) { requires std::is_pointer_v<decltype(node._M_nxt)>; } ||
    requires(T& node) { requires std::is_pointer_v<decltype(node._M_parent)>; };

}  // namespace detail

namespace interprocess {

/// Allocates in a `Memory` and refers to it by `offset_ptr`, so that a container may lie in the memory and be used by
/// each process. The traits are as in `ashlar::allocator`. A container that would keep addresses of one process does
/// not compile. Lifetime: the memory is mapped while the container is used. Thread safety: any thread.
template <class T, class Memory>
class allocator {
public:
  using value_type = T;
  using pointer = offset_ptr<T>;
  using is_always_equal = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using propagate_on_container_copy_assignment = std::false_type;

  template <class U>
  struct rebind {
    using other = allocator<U, Memory>;
  };

  // Implicit, so that the memory can be passed to a container's constructor.
  allocator(Memory& memory) noexcept : memory_(std::addressof(memory)) {}
  template <class U>
  allocator(const allocator<U, Memory>& other) noexcept : memory_(&other.resource()) {}

  /// Returns: memory for `n` objects. Throws: `std::bad_array_new_length` if `n * sizeof(T)` overflows;
  /// `std::bad_alloc`.
  [[nodiscard]] pointer allocate(std::size_t n) {
    static_assert(!detail::links_by_address<T>, "this container keeps addresses, which are of one process only");
    if (ASHLAR_UNLIKELY(n > max_size())) throw_bad_array_new_length();
    return pointer(static_cast<T*>(memory_->allocate(n * sizeof(T), alignof(T))));
  }

  /// Expects: `p` came from `allocate(n)` of an equal allocator.
  void deallocate(pointer p, std::size_t n) noexcept {
    memory_->deallocate(const_cast<std::remove_cv_t<T>*>(p.get()), n * sizeof(T), alignof(T));
  }

  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return max_block_bytes / sizeof(T); }
  [[nodiscard]] allocator select_on_container_copy_construction() const noexcept { return *this; }
  [[nodiscard]] Memory& resource() const noexcept { return *memory_; }

  template <class U>
  [[nodiscard]] friend bool operator==(const allocator& a, const allocator<U, Memory>& b) noexcept {
    return &a.resource() == &b.resource();
  }

private:
  offset_ptr<Memory> memory_;
};

}  // namespace interprocess

}  // namespace ashlar::ASHLAR_ABI
