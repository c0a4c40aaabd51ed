// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contents that differ between blocks, so that writes to other blocks show. The C library writes and compares them,
// many bytes at a time where the test itself is not optimised.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ashlar_test {

inline constexpr std::size_t pattern_period = 4096;

/// Returns: the period of the pattern of a seed. The seeds next to it have others.
[[nodiscard]] inline const unsigned char* pattern_of(std::uint32_t seed) {
  static const std::array<unsigned char, 2 * pattern_period> twice = [] {
    std::array<unsigned char, 2 * pattern_period> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>(i % pattern_period * 40503u >> 7);
    return bytes;
  }();
  return twice.data() + seed * 2654435761u % pattern_period;
}

inline void write_pattern(void* p, std::size_t bytes, std::uint32_t seed) {
  for (std::size_t at = 0; at < bytes; at += pattern_period)
    std::memcpy(static_cast<unsigned char*>(p) + at, pattern_of(seed), std::min(bytes - at, pattern_period));
}

[[nodiscard]] inline bool has_pattern(const void* p, std::size_t bytes, std::uint32_t seed) {
  for (std::size_t at = 0; at < bytes; at += pattern_period)
    if (std::memcmp(static_cast<const unsigned char*>(p) + at, pattern_of(seed),
                    std::min(bytes - at, pattern_period)) != 0)
      return false;
  return true;
}

}  // namespace ashlar_test
