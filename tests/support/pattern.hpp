// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contents that differ between blocks, so that writes to other blocks show.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ashlar_test {

[[nodiscard]] inline unsigned char pattern_byte(std::uint32_t seed, std::size_t i) {
  return static_cast<unsigned char>((seed * 2654435761u + i * 40503u) >> 7);
}

inline void write_pattern(void* p, std::size_t bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<unsigned char*>(p)[i] = pattern_byte(seed, i);
}

[[nodiscard]] inline bool has_pattern(const void* p, std::size_t bytes, std::uint32_t seed) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (static_cast<const unsigned char*>(p)[i] != pattern_byte(seed, i)) return false;
  return true;
}

}  // namespace ashlar_test
