// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marks that tell AddressSanitizer and Valgrind which bytes of a resource's memory a program may touch.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

#if defined(ASHLAR_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(ASHLAR_VALGRIND)
#include <valgrind/memcheck.h>
#endif

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

#if defined(ASHLAR_ASAN)
inline constexpr bool marks_memory = true;
inline constexpr bool always_marked = true;
#elif defined(ASHLAR_VALGRIND)
inline constexpr bool marks_memory = true;
inline constexpr bool always_marked = false;
#else
/// Whether this build tells a tool which bytes are live. Where false, the marks cost nothing.
inline constexpr bool marks_memory = false;
/// Whether a tool is at work in every run of this build, and not only under Valgrind.
inline constexpr bool always_marked = false;
#endif

/// Effects: says that `bytes` at `p` are free; the tool reports a program that touches them.
ASHLAR_INLINE void mark_free([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  __asan_poison_memory_region(p, bytes);
#elif defined(ASHLAR_VALGRIND)
  VALGRIND_MAKE_MEM_NOACCESS(p, bytes);
#endif
}

/// As `mark_free`, of bytes that others follow, which another thread may be marking: bytes that share a mark of
/// AddressSanitizer's with those, 7 at most, stay as they are.
ASHLAR_INLINE void mark_free_before_others([[maybe_unused]] const void* p,
                                           [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  const std::size_t shared = (reinterpret_cast<std::uintptr_t>(p) + bytes) % 8;
  if (bytes > shared) mark_free(p, bytes - shared);
#else
  mark_free(p, bytes);
#endif
}

/// Effects: says that `bytes` at `p` are handed out, with undefined contents.
ASHLAR_INLINE void mark_live([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  __asan_unpoison_memory_region(p, bytes);
#elif defined(ASHLAR_VALGRIND)
  VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
}

/// @{ As `mark_live` and `mark_free`, of bytes beside which other threads mark theirs. Of 8 bytes that have one mark of
/// AddressSanitizer's and are not all of `p`, all become live, and none is free again.
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

/// Effects: says that the resource itself is about to read or write `bytes` at `p` of free memory.
ASHLAR_INLINE void mark_readable([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_ASAN)
  __asan_unpoison_memory_region(p, bytes);
#elif defined(ASHLAR_VALGRIND)
  VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
