// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checksum of headers and payloads: XXH64 with seed 0, after Yann Collet's specification.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/varint.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

inline constexpr std::uint64_t xxh_prime_1 = 0x9E3779B185EBCA87;
inline constexpr std::uint64_t xxh_prime_2 = 0xC2B2AE3D27D4EB4F;
inline constexpr std::uint64_t xxh_prime_3 = 0x165667B19E3779F9;
inline constexpr std::uint64_t xxh_prime_4 = 0x85EBCA77C2B2AE63;
inline constexpr std::uint64_t xxh_prime_5 = 0x27D4EB2F165667C5;

[[nodiscard]] constexpr std::uint64_t xxh_round(std::uint64_t lane, std::uint64_t word) noexcept {
  return std::rotl(lane + word * xxh_prime_2, 31) * xxh_prime_1;
}

/// Returns: the four lanes folded into one, after consuming every whole 32-byte stripe at `p`.
[[nodiscard]] constexpr std::uint64_t xxh_stripes(const std::byte*& p, std::size_t n) noexcept {
  std::array<std::uint64_t, 4> lane{xxh_prime_1 + xxh_prime_2, xxh_prime_2, 0, 0 - xxh_prime_1};
  for (; n >= 32; n -= 32)
    for (auto& l : lane) l = xxh_round(l, get_word<std::uint64_t>(p)), p += 8;
  std::uint64_t sum = std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) + std::rotl(lane[3], 18);
  for (const auto l : lane) sum = (sum ^ xxh_round(0, l)) * xxh_prime_1 + xxh_prime_4;
  return sum;
}

[[nodiscard]] constexpr std::uint64_t xxh_tail(std::uint64_t sum, const std::byte* p, std::size_t n) noexcept {
  for (; n >= 8; n -= 8, p += 8)
    sum = std::rotl(sum ^ xxh_round(0, get_word<std::uint64_t>(p)), 27) * xxh_prime_1 + xxh_prime_4;
  for (; n >= 4; n -= 4, p += 4)
    sum = std::rotl(sum ^ (get_word<std::uint32_t>(p) * xxh_prime_1), 23) * xxh_prime_2 + xxh_prime_3;
  for (; n != 0; --n, ++p) sum = std::rotl(sum ^ (std::to_integer<std::uint64_t>(*p) * xxh_prime_5), 11) * xxh_prime_1;
  return sum;
}

[[nodiscard]] constexpr std::uint64_t xxh_avalanche(std::uint64_t sum) noexcept {
  sum = (sum ^ (sum >> 33)) * xxh_prime_2;
  sum = (sum ^ (sum >> 29)) * xxh_prime_3;
  return sum ^ (sum >> 32);
}

/// Complexity: linear, several gigabytes a second.
[[nodiscard]] constexpr std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  const std::byte* p = bytes.data();
  const std::size_t n = bytes.size();
  std::uint64_t sum = n >= 32 ? xxh_stripes(p, n) : xxh_prime_5;
  return xxh_avalanche(xxh_tail(sum + n, p, n % 32));
}

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
