// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic of addresses and sizes: powers of two, rounding, checked sums and products, exact division.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

/// The largest size; as a limit, none.
inline constexpr std::size_t max_size = std::numeric_limits<std::size_t>::max();

/// The largest block in bytes: pointer differences inside it must not overflow.
inline constexpr std::size_t max_block_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());

/// Whether `n` is a power of two; 0 is none.
//
// `n ^ (n - 1)` is the mask up to the lowest set bit; it exceeds `n - 1` only if no higher bit is set. Compilers turn
// the usual forms into a population count, which takes twenty instructions on processors without one.
[[nodiscard]] constexpr bool is_power_of_two(std::size_t n) noexcept { return (n ^ (n - 1)) > n - 1; }

/// Expects: `alignment` is a power of two.
[[nodiscard]] constexpr std::size_t align_down(std::size_t n, std::size_t alignment) noexcept {
  return n & ~(alignment - 1);
}

/// Expects: `alignment` is a power of two and the result fits.
[[nodiscard]] constexpr std::size_t align_up(std::size_t n, std::size_t alignment) noexcept {
  return align_down(n + alignment - 1, alignment);
}

[[nodiscard]] inline std::uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// Expects: `alignment` is a power of two.
[[nodiscard]] inline bool is_aligned(const void* p, std::size_t alignment) noexcept {
  return (address_of(p) & (alignment - 1)) == 0;
}

/// Returns: the address rounded down, derived from `p` so that the compiler knows its provenance.
/// Expects: `alignment` is a power of two.
[[nodiscard]] ASHLAR_INLINE std::byte* align_down(void* p, std::size_t alignment) noexcept {
  return static_cast<std::byte*>(p) - (address_of(p) & (alignment - 1));
}

/// Returns: the address rounded up, derived from `p`. Expects: `alignment` is a power of two.
[[nodiscard]] inline std::byte* align_up(void* p, std::size_t alignment) noexcept {
  return static_cast<std::byte*>(p) + ((0 - address_of(p)) & (alignment - 1));
}

/// Returns: the largest alignment of an object of `bytes` bytes: the largest power of two that divides `bytes`, at most
/// the alignment of `std::max_align_t`.
[[nodiscard]] constexpr std::size_t natural_alignment(std::size_t bytes) noexcept {
  const std::size_t divisor = bytes & (0 - bytes);
  return divisor < alignof(std::max_align_t) ? divisor : alignof(std::max_align_t);
}

/// Returns: whether some resource may serve a request for `bytes` bytes at `alignment`.
[[nodiscard]] ASHLAR_INLINE constexpr bool is_valid_request(std::size_t bytes, std::size_t alignment) noexcept {
  return is_power_of_two(alignment) && bytes <= max_block_bytes && alignment <= max_block_bytes - bytes;
}

/// Returns: `a + b` in `sum`, or false if it overflows.
[[nodiscard]] constexpr bool checked_add(std::size_t a, std::size_t b, std::size_t& sum) noexcept {
  sum = a + b;
  return sum >= a;
}

/// Returns: `a * b` in `product`, or false if it overflows.
[[nodiscard]] constexpr bool checked_mul(std::size_t a, std::size_t b, std::size_t& product) noexcept {
  product = a * b;
  return a == 0 || b <= max_size / a;
}

namespace detail {

// <algorithm> adds half of <functional> and 700 KB of text to a translation unit.

template <class T>
[[nodiscard]] constexpr T min(T a, T b) noexcept {
  return b < a ? b : a;
}

template <class T>
[[nodiscard]] constexpr T max(T a, T b) noexcept {
  return a < b ? b : a;
}

template <class T>
[[nodiscard]] constexpr T min(T a, T b, T c) noexcept {
  return min(min(a, b), c);
}

template <class T>
[[nodiscard]] constexpr T max(T a, T b, T c) noexcept {
  return max(max(a, b), c);
}

/// Returns: `value` limited to [low, high]. Expects: `low <= high`.
template <class T>
[[nodiscard]] constexpr T clamp(T value, T low, T high) noexcept {
  return value < low ? low : high < value ? high : value;
}

/// Effects: assigns `value` to `count` elements from `first`.
template <class T>
constexpr void fill_n(T* first, std::size_t count, T value = {}) noexcept {
  for (; count != 0; --count) *first++ = value;
}

/// The largest page of a system in bytes, without huge pages: blocks of this size and alignment share no page.
inline constexpr std::size_t largest_page = std::size_t{64} * 1024;

/// Returns: a word whose bits each depend on all bits of `word`: the finaliser of SplitMix64 (Steele, Lea and Flood
/// 2014).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

/// Expects: `n` is a power of two.
[[nodiscard]] constexpr unsigned log2_of(std::uint64_t n) noexcept {
  return static_cast<unsigned>(std::countr_zero(n));
}

[[nodiscard]] constexpr std::size_t ceil_div(std::size_t n, std::size_t d) noexcept { return n / d + (n % d != 0); }

/// Returns: the largest power of two that divides the address.
[[nodiscard]] inline std::size_t largest_alignment_of(const void* p) noexcept {
  return address_of(p) & (0 - address_of(p));
}

/// Divides offsets inside a slab by the cell size with one multiplication:
/// `n / d == (n * ceil(2^32 / d)) >> 32` for all `n * d < 2^32` (Granlund and Montgomery, 1994, theorem 4.2:
/// the error `n * (d * ceil(2^32/d) - 2^32) <= n * (d - 1)` must stay below `2^32`).
class reciprocal {
public:
  constexpr reciprocal() = default;
  /// Expects: `0 < divisor < 2^32`.
  constexpr explicit reciprocal(std::uint32_t divisor) noexcept
      : factor_(((std::uint64_t{1} << 32) + divisor - 1) / divisor) {}

  [[nodiscard]] constexpr std::uint32_t divide(std::uint32_t n) const noexcept {
    return static_cast<std::uint32_t>((n * factor_) >> 32);
  }

private:
  std::uint64_t factor_ = 0;  // 64 bits, since it is 2^32 for the divisor 1
};

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
