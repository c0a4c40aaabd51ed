// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource over the program's operator new and operator delete.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// Stateless: all instances are equal. A block of 0 bytes has a unique address.
/// Thread safety and complexity: as operator new.
class new_delete_resource {
public:
  static constexpr bool is_thread_safe = true;
  static constexpr bool is_process_wide = true;

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: a block, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) return nullptr;
    if (alignment <= default_alignment) return ::operator new(bytes, std::nothrow);
    return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
  }

  /// Expects: `p` was allocated with the same `bytes` and `alignment`.
  void deallocate(void* p, std::size_t /*bytes*/, std::size_t alignment) noexcept {
    if (alignment <= default_alignment) ::operator delete(p);
    else ::operator delete(p, std::align_val_t{alignment});
  }

  [[nodiscard]] friend bool operator==(const new_delete_resource&, const new_delete_resource&) noexcept = default;

private:
  static constexpr std::size_t default_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
};

static_assert(try_resource<new_delete_resource> && process_wide_resource<new_delete_resource>);

}  // namespace ashlar::ASHLAR_ABI
