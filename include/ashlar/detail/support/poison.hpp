// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marks of a resource's memory for AddressSanitizer and Valgrind: free bytes, live bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

#if defined(ASHLAR_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(ASHLAR_VALGRIND)
#include <valgrind/memcheck.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if defined(ASHLAR_ASAN)
inline constexpr bool marks_memory = true;
inline constexpr bool always_marked = true;
#elif defined(ASHLAR_VALGRIND)
inline constexpr bool marks_memory = true;
inline constexpr bool always_marked = false;
#else
/// Whether this build marks live bytes for a tool. If false, the marks cost nothing.
inline constexpr bool marks_memory = false;
/// Whether a tool checks every run of this build, not only runs under Valgrind.
inline constexpr bool always_marked = false;
#endif

/// Effects: marks `bytes` bytes at `p` as free; the tool reports any access to them.
ASHLAR_INLINE void mark_free([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  __asan_poison_memory_region(p, bytes);
#elif defined(ASHLAR_VALGRIND)
  VALGRIND_MAKE_MEM_NOACCESS(p, bytes);
#endif
}

/// As `mark_free`, but another thread may mark the bytes after the range at the same time. AddressSanitizer has one
/// mark for 8 bytes: the last bytes of the range that share a mark with the bytes after, at most 7, keep theirs.
ASHLAR_INLINE void mark_free_before_others([[maybe_unused]] const void* p,
                                           [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  const std::size_t shared = (reinterpret_cast<std::uintptr_t>(p) + bytes) % 8;
  if (bytes > shared) mark_free(p, bytes - shared);
#else
  mark_free(p, bytes);
#endif
}

/// Effects: marks `bytes` bytes at `p` as live, with undefined contents.
ASHLAR_INLINE void mark_live([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  __asan_unpoison_memory_region(p, bytes);
#elif defined(ASHLAR_VALGRIND)
  VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
}

/// @{ As `mark_live` and `mark_free`, but other threads may mark the neighbouring bytes at the same time. If a mark of
/// AddressSanitizer covers 8 bytes that are only partly in the range, all 8 become live and none becomes free again.
ASHLAR_INLINE void mark_live_among_others([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  const std::size_t before = reinterpret_cast<std::uintptr_t>(p) % 8;
  mark_live(static_cast<const char*>(p) - before, (before + bytes + 7) / 8 * 8);
#else
  mark_live(p, bytes);
#endif
}
ASHLAR_INLINE void mark_free_among_others([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(p)) % 8;
  if (bytes > before) mark_free_before_others(static_cast<const char*>(p) + before, bytes - before);
#else
  mark_free(p, bytes);
#endif
}
/// @}

/// Effects: marks `bytes` free bytes at `p` as accessible and defined, for an access by the resource itself.
ASHLAR_INLINE void mark_readable([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  __asan_unpoison_memory_region(p, bytes);
#elif defined(ASHLAR_VALGRIND)
  VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
}

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

}  // namespace ashlar::ASHLAR_ABI::detail
