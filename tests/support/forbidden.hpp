// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes that a program may not touch, according to AddressSanitizer.
#pragma once

#include <cstddef>

#include <ashlar/detail/support/poison.hpp>

namespace ashlar_test {

/// Returns: whether AddressSanitizer would report an access to the byte; false without AddressSanitizer.
[[nodiscard]] inline bool is_forbidden([[maybe_unused]] const void* p) noexcept {
#if defined(ASHLAR_ASAN)
  return __asan_address_is_poisoned(p) != 0;
#else
  return false;
#endif
}

/// Returns: the number of bytes that it would report.
[[nodiscard]] inline std::size_t forbidden_bytes(const void* from, std::size_t bytes) noexcept {
  std::size_t forbidden = 0;
  for (std::size_t i = 0; i < bytes; ++i) forbidden += is_forbidden(static_cast<const std::byte*>(from) + i) ? 1u : 0u;
  return forbidden;
}

}  // namespace ashlar_test
