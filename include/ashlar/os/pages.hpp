// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory from the operating system in whole pages, at any alignment: reserve, commit, decommit, release.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/calls.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace os {

/// All sizes are in bytes and multiples of `page_bytes()`; all alignments are powers of two.
/// Nothing here throws; failure is null or false. A system call that fails half-way can cost address space, never
/// memory. `errno` is preserved. Thread safety: any thread.
template <class Calls>
class basic_pages {
public:
  [[nodiscard]] static std::size_t page_bytes() noexcept { return Calls::page_bytes(); }

  /// Returns: `bytes` rounded up to whole pages, at least one; 0 if that overflows.
  [[nodiscard]] static std::size_t round_up(std::size_t bytes) noexcept {
    std::size_t sum = 0;
    if (!detail::checked_add(bytes, page_bytes() - 1, sum)) return 0;
    return bytes == 0 ? page_bytes() : detail::align_down(sum, page_bytes());
  }

  /// Returns: address space that must be committed before use, or null.
  [[nodiscard]] static void* reserve(std::size_t bytes, std::size_t alignment) noexcept {
    return map_aligned(bytes, alignment, false);
  }

  /// Returns: as much address space as can be had, at most `most`; the wish is halved until it is granted or falls
  /// below `least`. Empty if even that is refused (as under `RLIMIT_AS`).
  [[nodiscard]] static block reserve_up_to(std::size_t most, std::size_t least, std::size_t alignment) noexcept {
    for (std::size_t wish = most; wish != 0 && wish >= least;) {
      if (void* const p = reserve(wish, alignment)) return {p, wish};
      const std::size_t half = detail::align_down(wish / 2, page_bytes());
      wish = wish == least ? 0 : detail::max(half, least);
    }
    return {};
  }

  /// Effects: makes reserved pages usable. Contents: zero after `reserve` or `decommit`.
  [[nodiscard]] static bool commit(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    return Calls::protect(p, bytes, true);
  }

  /// Effects: gives the memory back and makes the pages unusable; the address space stays reserved.
  /// Returns: false where only a part of that could be done: the pages may still be resident or usable.
  static bool decommit(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    const bool discarded = Calls::discard(p, bytes);
    return Calls::protect(p, bytes, false) && discarded;
  }

  /// Returns: usable pages, all zero, or null.
  [[nodiscard]] static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    return map_aligned(bytes, alignment, true);
  }

  /// Effects: gives pages and address space back. Where the system refuses (its table of mappings is full), the
  /// memory is given back all the same and only the address space stays.
  /// Returns: whether the address space was given back too.
  static bool release(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    if (Calls::unmap(p, bytes)) return true;
    static_cast<void>(Calls::discard(p, bytes));
    return false;
  }

  /// Effects: makes usable pages more where they stand; the new ones are zero.
  /// Returns: false where something else is mapped behind them, or memory has run out.
  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept
    requires requires { Calls::grow(p, bytes, new_bytes); }
  {
    const keep_errno keep;
    return Calls::grow(p, bytes, new_bytes);
  }

  /// Effects: moves usable pages to `place`, and makes them more; the new ones are zero, and no byte is copied.
  /// Expects: `place` is reserved, `new_bytes` long, not less than `bytes`. Returns: false where the pages are as they
  /// were. `place` is lost then, as address space: the system may have unmapped it, and who has it now is unknown.
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept
    requires requires { Calls::move(p, bytes, place, new_bytes); }
  {
    const keep_errno keep;
    return Calls::move(p, bytes, place, new_bytes);
  }

  /// Effects: makes usable pages resident in one call instead of one page fault each; a hint.
  static void populate(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    static_cast<void>(Calls::populate(p, bytes));
  }

  /// Effects: makes usable pages resident, and keeps them so until they are released: they are never swapped out.
  /// Returns: false where the system refuses, as it does beyond `RLIMIT_MEMLOCK`; some may be resident then.
  [[nodiscard]] static bool lock(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    return Calls::lock(p, bytes);
  }

  /// Effects: asks for huge pages in the range; a hint.
  static void advise_huge(void* p, std::size_t bytes) noexcept {
    const keep_errno keep;
    static_cast<void>(Calls::advise_huge(p, bytes));
  }

private:
  struct keep_errno {
    int saved = errno;
    ~keep_errno() { errno = saved; }
  };

  // The kernel places mappings of one size side by side, so the first try is aligned nearly always once one was.
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool usable) noexcept {
    const keep_errno keep;
    void* const p = Calls::map(bytes, usable);
    if (p == nullptr || detail::is_aligned(p, alignment)) return p;
    if (!Calls::unmap(p, bytes)) return nullptr;
    // As a number: it is null where the alignment is above the address, and then no pointer that may be computed.
    if (void* const below = map_at(detail::align_down(detail::address_of(p), alignment), bytes, usable)) return below;
    return map_and_trim(bytes, alignment, usable);
  }

  // The kernel fills address space from above, so what lies below a mapping is free mostly; and where an address space
  // limit is near, there may be no room for more than is wanted.
  [[nodiscard]] static void* map_at([[maybe_unused]] std::uintptr_t place, std::size_t bytes, bool usable) noexcept {
    if constexpr (requires(void* near) { Calls::map_near(near, bytes, usable); }) {
      void* const p = place != 0 ? Calls::map_near(reinterpret_cast<void*>(place), bytes, usable) : nullptr;
      if (p == nullptr || detail::address_of(p) == place) return p;
      trim(p, bytes);
    }
    return nullptr;
  }

  [[nodiscard]] static void* map_and_trim(std::size_t bytes, std::size_t alignment, bool usable) noexcept {
    std::size_t wide = 0;
    if (!detail::checked_add(bytes, alignment - page_bytes(), wide)) return nullptr;
    void* const start = Calls::map(wide, usable);
    if (start == nullptr) return nullptr;
    std::byte* const p = detail::align_up(start, alignment);
    const auto before = static_cast<std::size_t>(p - static_cast<std::byte*>(start));
    trim(start, before);
    trim(p + bytes, wide - before - bytes);
    return p;
  }

  // A part that cannot be trimmed is address space lost, never memory: nobody has touched it.
  static void trim(void* p, std::size_t bytes) noexcept {
    if (bytes != 0) static_cast<void>(Calls::unmap(p, bytes));
  }
};

}  // namespace os
}  // namespace ASHLAR_ABI
}  // namespace ashlar
