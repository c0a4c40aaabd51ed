// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard bytes between the cells of a slab at level hardened, which detect overflows.
#pragma once

#include <cstddef>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/watched_slack.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether cells have guards around them, and slabs record the past of each cell. A slab at level `hardened`:
///
///   | header | bits: free | bits: used | bits: resting | front guard | cell 0 | guard | cell 1 | guard | ...
///
/// A guard follows each cell, for any request: the bytes up to the next cell, at least one. It is written when
/// the cell or a neighbour is first handed out, and stays as long as the slab: unused memory is not touched. Below
/// `hardened` there are no guards, and only the first bitmap.
inline constexpr bool has_guards = checking_level >= checking::hardened;
inline constexpr std::size_t least_guard = has_guards ? 1 : 0;   ///< bytes after each cell
inline constexpr std::size_t front_guard = has_guards ? 16 : 0;  ///< bytes in front of a slab's first cell
inline constexpr std::size_t cell_bitmaps = has_guards ? 3 : 1;

/// The fill value of a guard: no text, no small number, no poison.
inline constexpr unsigned char guard_byte = 0xA9;

/// Effects: fills `bytes` bytes at `p` as a guard.
inline void fill_guard(void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  std::memset(p, guard_byte, bytes);
  mark_free(p, bytes);
}

/// Returns: whether the whole guard is intact.
[[nodiscard]] inline bool is_guard_intact(const void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  const bool is_intact = is_filled(p, bytes, guard_byte);
  mark_free(p, bytes);
  return is_intact;
}

/// Returns: the number of bytes up to the last damaged byte of a guard.
[[nodiscard]] ASHLAR_COLD inline std::size_t guard_damage(const void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  const auto* const guard = static_cast<const unsigned char*>(p);
  while (bytes != 0 && guard[bytes - 1] == guard_byte) --bytes;
  return bytes;
}

/// Effects: reports writes to the guard of `guard` bytes after the `bytes` bytes at `p`, a block of `resource` with
/// cells of `cell_bytes`; does not return.
[[noreturn]] ASHLAR_COLD inline void report_overflow_into_guard(const std::byte* p, std::size_t bytes,
                                                                std::size_t guard, std::size_t cell_bytes,
                                                                const void* resource) noexcept {
  report_write_behind(p, cell_bytes, bytes, bytes + guard_damage(p + bytes, guard), resource);
}

}  // namespace ashlar::ASHLAR_ABI::detail
