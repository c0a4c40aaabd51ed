// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The flags of mallocx and its relatives: bits 0 to 5 are the logarithm of the alignment, bit 6 asks for zeros. The
// rest names caches and arenas, which are hints.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>

namespace ashlar::drop_in {

inline constexpr std::size_t least_alignment = 16;  ///< of malloc

[[nodiscard]] constexpr std::size_t alignment_of(int flags) noexcept {
  return detail::max(std::size_t{1} << (static_cast<unsigned>(flags) & 0x3Fu), least_alignment);
}
[[nodiscard]] constexpr bool wants_zeros(int flags) noexcept { return (static_cast<unsigned>(flags) & 0x40u) != 0; }

}  // namespace ashlar::drop_in
