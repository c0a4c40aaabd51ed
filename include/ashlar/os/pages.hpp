// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whole pages of the operating system at any alignment: reserve, commit, decommit, release; and what the system lets a
// process have: processors and mappings.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/os/system_calls.hpp>

namespace ashlar::ASHLAR_ABI::os {

/// All sizes are in bytes and multiples of `page_bytes()`; all alignments are powers of two.
/// No function throws; failure is null or false. A system call that fails half-way can leak address space, but no
/// memory. `errno` is preserved. Thread safety: any thread.
template <class Calls>
class basic_pages {
public:
  /// The smallest part of a mapping that can be released, in bytes. 0: the memory of a part is returned, and its
  /// address space with the rest.
  static constexpr std::size_t least_part_bytes = [] {
    if constexpr (requires { Calls::least_part_bytes; }) return Calls::least_part_bytes;
    else return detail::largest_page;
  }();
  static constexpr bool releases_parts = least_part_bytes != 0;

  [[nodiscard]] static std::size_t page_bytes() noexcept { return Calls::page_bytes(); }

  /// Returns: `bytes` rounded up to whole pages, at least one; 0 if that overflows.
  [[nodiscard]] static std::size_t round_up(std::size_t bytes) noexcept {
    std::size_t sum = 0;
    if (!checked_add(bytes, page_bytes() - 1, sum)) return 0;
    return bytes == 0 ? page_bytes() : align_down(sum, page_bytes());
  }

  /// Returns: address space that must be committed before use, or null.
  [[nodiscard]] static void* reserve(std::size_t bytes, std::size_t alignment) noexcept {
    return map_aligned(bytes, alignment, false);
  }

  /// Returns: at most `most` bytes of address space; the request is halved until the system grants it or it falls below
  /// `least`. Empty if the system refuses even `least` bytes (as under `RLIMIT_AS`).
  [[nodiscard]] static block reserve_up_to(std::size_t most, std::size_t least, std::size_t alignment) noexcept {
    for (std::size_t wish = most; wish != 0 && wish >= least;) {
      if (void* const p = reserve(wish, alignment)) return {p, wish};
      const std::size_t half = align_down(wish / 2, page_bytes());
      wish = wish == least ? 0 : (half < least ? least : half);
    }
    return {};
  }

  /// Effects: makes reserved pages usable. Contents: zero after `reserve` or `decommit`.
  [[nodiscard]] static bool commit(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    return Calls::protect(p, bytes, true);
  }

  /// Effects: returns the memory to the system and makes the pages unusable; the address space stays reserved.
  /// Returns: false after a partial failure: the pages may still be resident or usable.
  static bool decommit(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    if constexpr (requires { Calls::decommit(p, bytes); }) {
      return Calls::decommit(p, bytes);
    } else {
      const bool discarded = Calls::discard(p, bytes);
      return Calls::protect(p, bytes, false) && discarded;
    }
  }

  /// Returns: usable pages, all zero, or null.
  [[nodiscard]] static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    return map_aligned(bytes, alignment, true);
  }

  /// Effects: returns pages and address space to the system. If the system refuses (its table of mappings is full),
  /// only the memory is returned and the address space stays.
  /// Returns: whether the address space was returned too.
  static bool release(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    if (Calls::unmap(p, bytes)) return true;
    if constexpr (requires { Calls::decommit(p, bytes); }) static_cast<void>(Calls::decommit(p, bytes));
    else static_cast<void>(Calls::discard(p, bytes));
    return false;
  }

  /// Effects: extends usable pages in place; the new ones are zero.
  /// Returns: false if the range after them is mapped or memory is exhausted.
  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept
    requires requires { Calls::grow(p, bytes, new_bytes); }
  {
    const keep_errno keep;
    return Calls::grow(p, bytes, new_bytes);
  }

  /// Effects: moves usable pages to `place` without a copy and extends them to `new_bytes` bytes; the new ones are
  /// zero. Expects: `place` is `new_bytes` bytes of reserved address space, at least `bytes`. Returns: false if the
  /// pages are unchanged. Then `place` is lost as address space: the system may have unmapped it, and its new owner is
  /// unknown.
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept
    requires requires { Calls::move(p, bytes, place, new_bytes); }
  {
    const keep_errno keep;
    return Calls::move(p, bytes, place, new_bytes);
  }

  /// Effects: makes usable pages resident in one call instead of one page fault for each; a hint.
  static void populate(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    static_cast<void>(Calls::populate(p, bytes));
  }

  /// Effects: makes usable pages resident until their release: they are never swapped out.
  /// Returns: false if the system refuses, as beyond `RLIMIT_MEMLOCK`; some pages may be resident then.
  [[nodiscard]] static bool lock(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    return Calls::lock(p, bytes);
  }

  /// Effects: requests huge pages for the range; a hint.
  static void advise_huge(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    static_cast<void>(Calls::advise_huge(p, bytes));
  }

  /// Effects: requests that the range stays without huge pages; a hint.
  static void refuse_huge(void* p, std::size_t bytes) noexcept
    requires requires { Calls::refuse_huge(p, bytes); }
  {
    const keep_errno keep;
    static_cast<void>(Calls::refuse_huge(p, bytes));
  }

private:
  using keep_errno = detail::errno_scope<Calls>;

  // The kernel places mappings of one size side by side: after one aligned mapping, the first attempt nearly always
  // succeeds.
  [[nodiscard]] ASHLAR_COLD static void* map_aligned(std::size_t bytes, std::size_t alignment, bool usable) noexcept {
    const keep_errno keep;
    if constexpr (requires { Calls::map_aligned(bytes, alignment, usable); })
      return Calls::map_aligned(bytes, alignment, usable);
    else return map_or_trim(bytes, alignment, usable);
  }

  [[nodiscard]] static ASHLAR_INLINE void* map_or_trim(std::size_t bytes, std::size_t alignment, bool usable) noexcept {
    void* const p = Calls::map(bytes, usable);
    if (p == nullptr || is_aligned(p, alignment)) return p;
    if (!Calls::unmap(p, bytes)) return nullptr;
    // A number, since it is 0 if the alignment exceeds the address: such a pointer must not be computed.
    if (void* const below = map_at(align_down(address_of(p), alignment), bytes, usable)) return below;
    return map_and_trim(bytes, alignment, usable);
  }

  // The kernel fills address space from above, so the range below a mapping is usually free. Close to an address space
  // limit a larger mapping, to be trimmed, may fail.
  [[nodiscard]] static ASHLAR_INLINE void* map_at([[maybe_unused]] std::uintptr_t place, std::size_t bytes,
                                                  bool usable) noexcept {
    if constexpr (requires(void* wanted) { Calls::map_near(wanted, bytes, usable); }) {
      void* const p = place != 0 ? Calls::map_near(reinterpret_cast<void*>(place), bytes, usable) : nullptr;
      if (p == nullptr || address_of(p) == place) return p;
      trim(p, bytes);
    }
    return nullptr;
  }

  [[nodiscard]] static ASHLAR_INLINE void* map_and_trim(std::size_t bytes, std::size_t alignment,
                                                        bool usable) noexcept {
    std::size_t wide = 0;
    if (!checked_add(bytes, alignment - page_bytes(), wide)) return nullptr;
    void* const start = Calls::map(wide, usable);
    if (start == nullptr) return nullptr;
    std::byte* const p = align_up(start, alignment);
    const auto before = static_cast<std::size_t>(p - static_cast<std::byte*>(start));
    trim(start, before);
    trim(p + bytes, wide - before - bytes);
    return p;
  }

  // A part that cannot be trimmed leaks address space, but no memory: it was never accessed.
  static void trim(void* p, std::size_t bytes) noexcept {
    if (bytes != 0) static_cast<void>(Calls::unmap(p, bytes));
  }
};

using pages = basic_pages<detail::system_calls>;

}  // namespace ashlar::ASHLAR_ABI::os

#if defined(ASHLAR_HAS_KERNEL)
#include <fcntl.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: processors on which the calling thread may run; 64 where there are more than 1024, and 1 where no system
/// tells.
[[nodiscard]] inline std::uint32_t usable_processors() noexcept {
#if defined(ASHLAR_HAS_KERNEL)
  bit_word words[1024 / bits_per_word] = {};
  if (call_kernel(SYS_sched_getaffinity, 0, sizeof words, words) <= 0) return 64;
  std::size_t count = 0;
  for (const bit_word each : words) count += count_bits(each);
  return static_cast<std::uint32_t>(count);
#else
  return 1;
#endif
}

/// Returns: the mappings that the system lets a process have (`vm.max_map_count`), or Linux's default.
[[nodiscard]] inline std::size_t max_mappings() noexcept {
  std::size_t found = 0;
#if defined(ASHLAR_HAS_KERNEL)
  constexpr int no_directory = -1;
  const long file = call_kernel(SYS_openat, no_directory, "/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  char digits[20];
  const long length = file >= 0 ? call_kernel(SYS_read, file, digits, sizeof digits) : 0;
  if (file >= 0) call_kernel(SYS_close, file);
  for (long i = 0; i < length && digits[i] >= '0'; ++i) found = 10 * found + static_cast<std::size_t>(digits[i] - '0');
#endif
  return found != 0 ? found : 65'530;
}

}  // namespace ashlar::ASHLAR_ABI::detail
