// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers as bytes: fixed little-endian words, LEB128 varints in their shortest form, zigzag for signed ones.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

inline constexpr std::size_t max_varint_bytes = 10;

/// Effects: writes `value` at `to`, least significant byte first. Returns: the byte after it.
template <std::unsigned_integral Word>
constexpr std::byte* put_word(std::byte* to, Word value) noexcept {
  if (!std::is_constant_evaluated() && std::endian::native == std::endian::little) {
    std::memcpy(to, &value, sizeof value);
    return to + sizeof value;
  }
  for (std::size_t i = 0; i < sizeof(Word); ++i) *to++ = static_cast<std::byte>(value >> (8 * i));
  return to;
}

template <std::unsigned_integral Word>
[[nodiscard]] constexpr Word get_word(const std::byte* from) noexcept {
  if (!std::is_constant_evaluated() && std::endian::native == std::endian::little) {
    Word word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return static_cast<Word>(value);
}

constexpr std::byte* put_long_varint(std::byte* to, std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

/// Values below 2^28 take no branch that depends on their length: lengths are unpredictable, and a recorder delays the
/// program. Four bytes are written, and the length of the value is added. Expects: `max_varint_bytes` of room at `to`.
/// Returns: the byte after the varint.
constexpr std::byte* put_varint(std::byte* to, std::uint64_t value) noexcept {
  if (ASHLAR_UNLIKELY(value >= std::uint64_t{1} << 28)) return put_long_varint(to, value);
  const auto v = static_cast<std::uint32_t>(value);
  const std::uint32_t spread = (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 | (v & 0xfe00000) << 3;
  const auto bytes = static_cast<std::uint32_t>(std::bit_width(v | 1) + 6) / 7;
  const std::uint32_t more = 0x808080 & ((std::uint32_t{1} << (8 * (bytes - 1))) - 1);
  put_word(to, spread | more);
  return to + bytes;
}

/// 0, -1, 1, -2 … become 0, 1, 2, 3 …; the argument is a difference modulo 2^64.
[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t difference) noexcept {
  return (difference << 1) ^ (0 - (difference >> 63));
}

[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t code) noexcept { return (code >> 1) ^ (0 - (code & 1)); }

/// Reads a byte string from front to back, never past its end. After a failure every result is 0.
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

  [[nodiscard]] constexpr std::uint32_t word() noexcept {
    const auto four = bytes(sizeof(std::uint32_t));
    return four.empty() ? 0 : get_word<std::uint32_t>(four.data());
  }

  /// Returns: the next `n` bytes, or none if there are fewer.
  [[nodiscard]] constexpr std::span<const std::byte> bytes(std::uint64_t n) noexcept {
    if (n > rest_.size()) return fail(), std::span<const std::byte>{};
    const auto taken = rest_.first(static_cast<std::size_t>(n));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  /// Fails on varints that are not in shortest form or do not fit 64 bits, so that every value has one encoding.
  [[nodiscard]] ASHLAR_INLINE constexpr std::uint64_t varint() noexcept {
    if (rest_.size() < 2) return long_varint();
    const auto first = std::to_integer<std::uint64_t>(rest_[0]), second = std::to_integer<std::uint64_t>(rest_[1]);
    if (first < 0x80) return rest_ = rest_.subspan(1), first;
    if (second - 1 >= 0x7f) return long_varint();
    rest_ = rest_.subspan(2);
    return (first & 0x7f) | second << 7;
  }

  constexpr void fail() noexcept {
    ok_ = false;
    rest_ = {};
  }

private:
  [[nodiscard]] constexpr std::uint64_t long_varint() noexcept {
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

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
