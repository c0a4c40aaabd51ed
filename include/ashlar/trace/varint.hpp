// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers as bytes: fixed little-endian words, LEB128 varints in their one shortest form, zigzag for signed ones.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>

namespace ashlar::inline ASHLAR_ABI::trace {

inline constexpr std::size_t max_varint_bytes = 10;

/// Effects: writes `value` at `to`, least significant byte first. Returns: the byte after it.
template <std::unsigned_integral Word>
constexpr std::byte* put_word(std::byte* to, Word value) noexcept {
  for (std::size_t i = 0; i < sizeof(Word); ++i) *to++ = static_cast<std::byte>(value >> (8 * i));
  return to;
}

template <std::unsigned_integral Word>
[[nodiscard]] constexpr Word get_word(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return static_cast<Word>(value);
}

/// Expects: `max_varint_bytes` of room at `to`. Returns: the byte after the varint.
constexpr std::byte* put_varint(std::byte* to, std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

/// 0, -1, 1, -2 … become 0, 1, 2, 3 …; the argument is a difference modulo 2^64.
[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}

[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t code) noexcept { return (code >> 1) ^ (0 - (code & 1)); }

/// Reads one byte string from front to back and never past its end. After a failure every answer is 0.
class byte_cursor {
public:
  constexpr byte_cursor() = default;
  constexpr explicit byte_cursor(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] constexpr bool ok() const noexcept { return ok_; }
  [[nodiscard]] constexpr bool at_end() const noexcept { return rest_.empty(); }

  [[nodiscard]] constexpr std::uint8_t byte() noexcept {
    const auto one = bytes(1);
    return one.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(one[0]);
  }

  /// Returns: the next `n` bytes, or none if there are fewer.
  [[nodiscard]] constexpr std::span<const std::byte> bytes(std::uint64_t n) noexcept {
    if (n > rest_.size()) return fail(), std::span<const std::byte>{};
    const auto taken = rest_.first(static_cast<std::size_t>(n));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  /// Fails on varints that are longer than they need be or do not fit 64 bits, so that every value has one spelling.
  [[nodiscard]] constexpr std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < max_varint_bytes && i < rest_.size(); ++i) {
      const auto b = std::to_integer<std::uint64_t>(rest_[i]);
      value |= (b & 0x7f) << (7 * i);
      if ((b & 0x80) != 0) continue;
      if ((i != 0 && b == 0) || (i == max_varint_bytes - 1 && b > 1)) return fail(), 0;
      rest_ = rest_.subspan(i + 1);
      return value;
    }
    return fail(), 0;
  }

  constexpr void fail() noexcept {
    ok_ = false;
    rest_ = {};
  }

private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace ashlar::inline ASHLAR_ABI::trace
