// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource that never has memory: the end of a chain that must not fall back to another resource.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// Stateless: all instances are equal. Thread safety: any thread.
class null_resource {
public:
  static constexpr bool is_thread_safe = true;
  static constexpr bool is_process_wide = true;

  /// Throws: `std::bad_alloc`, always.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: null, always. Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t /*bytes*/, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    return nullptr;
  }

  /// Expects: never called, since nothing was allocated.
  void deallocate(void* p, std::size_t bytes, std::size_t /*alignment*/) noexcept {
    if constexpr (checking_level >= checking::checked)
      report({.kind = fault::invalid_free, .what = "freed to null_resource", .pointer = p, .size = bytes});
  }

  [[nodiscard]] bool owns(const void* /*p*/) const noexcept { return false; }

  [[nodiscard]] friend bool operator==(const null_resource&, const null_resource&) noexcept = default;
};

static_assert(try_resource<null_resource> && owning_resource<null_resource> && process_wide_resource<null_resource>);

}  // namespace ashlar::ASHLAR_ABI
