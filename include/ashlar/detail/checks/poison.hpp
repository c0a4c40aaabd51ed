// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Poison: the byte pattern of free blocks at level hardened, which reveals later writes to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether resources write canaries and poison. AddressSanitizer needs neither: it detects each access at once.
inline constexpr bool keeps_canaries = checking_level >= checking::hardened && !always_marked;

/// A word of poison is neither a valid address nor null.
inline constexpr unsigned char poison_byte = 0xFD;

// Returns: the bits in which the word at `p` differs from `expected`.
[[nodiscard]] ASHLAR_INLINE std::uint64_t changed_bits(const void* p, std::uint64_t expected) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof(word));
  return word ^ expected;
}

[[nodiscard]] inline bool are_bytes_filled(const unsigned char* p, std::size_t bytes, unsigned char value) noexcept {
  unsigned char changed = 0;
  for (std::size_t at = 0; at < bytes; ++at) changed |= static_cast<unsigned char>(p[at] ^ value);
  return changed == 0;
}

/// Returns: whether each of the `bytes` bytes at `p` is `value`. Complexity: O(bytes), as fast as `memcmp`.
[[nodiscard]] ASHLAR_INLINE bool is_filled(const void* p, std::size_t bytes, unsigned char value) noexcept {
  const auto* const at = static_cast<const unsigned char*>(p);
  constexpr std::size_t step = sizeof(std::uint64_t);
  if (bytes < step) return detail::are_bytes_filled(at, bytes, value);
  const std::uint64_t expected = 0x0101010101010101u * value;
  const std::uint64_t changed = detail::changed_bits(at, expected) | detail::changed_bits(at + bytes - step, expected);
  if (bytes <= 2 * step) return changed == 0;
  return changed == 0 && std::memcmp(at, at + step, bytes - step) == 0;  // each byte equals the one a step before
}

/// Effects: fills `bytes` free bytes at `p` with poison.
ASHLAR_INLINE void poison_block(void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  std::memset(p, poison_byte, bytes);
}

/// Returns: whether all of the `bytes` bytes at `p` are poison.
[[nodiscard]] inline bool is_poisoned(const void* p, std::size_t bytes) noexcept {
  return is_filled(p, bytes, poison_byte);
}

/// Effects: reports a write to a free block of `held` bytes of `resource`; does not return.
[[noreturn]] ASHLAR_COLD inline void report_poison(const void* p, std::size_t held, const void* resource) noexcept {
  report({.kind = fault::corrupt_link,
          .what = "a free block was written to",
          .pointer = p,
          .resource = resource,
          .size = held});
}

/// Effects: reports a free block of `held` bytes if its poison, the first `bytes` bytes, has changed. Tools consider
/// these bytes readable from then on.
ASHLAR_INLINE void verify_poison(const void* p, std::size_t bytes, std::size_t held, const void* resource) noexcept {
  mark_readable(p, bytes);
  if (ASHLAR_UNLIKELY(!is_poisoned(p, bytes))) report_poison(p, held, resource);
}

}  // namespace ashlar::ASHLAR_ABI::detail
