// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls behind pages on a system without pages: blocks of malloc, which neither grow nor lose their contents.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>

#if ASHLAR_HOSTED && !ASHLAR_WINDOWS  // the C library of Windows has no aligned_alloc

namespace ashlar::ASHLAR_ABI::detail {

/// As the calls of POSIX systems (detail/system/system_calls.hpp), with these differences: a block is given back as a
/// whole, no memory is only reserved, and nothing but `unmap` gives memory back.
struct portable_calls {
  static constexpr std::size_t least_part_bytes = 0;

  [[nodiscard]] static std::size_t page_bytes() noexcept { return 4096; }

  /// Returns: a zeroed block, or null.
  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return map_aligned(bytes, page_bytes(), accessible);
  }

  /// As `map`, at a multiple of `alignment`.
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool /*accessible*/) noexcept {
    alignment = detail::max(alignment, page_bytes());
    if (bytes == 0 || bytes > max_block_bytes - alignment) return nullptr;
    void* const p = std::aligned_alloc(alignment, align_up(bytes, alignment));
    return p != nullptr ? std::memset(p, 0, bytes) : nullptr;
  }

  /// Expects: `p` is the start of a block.
  [[nodiscard]] static bool unmap(void* p, std::size_t /*bytes*/) noexcept { return std::free(p), true; }

  /// Effects: zeroes the pages.
  static bool decommit(void* p, std::size_t bytes) noexcept { return std::memset(p, 0, bytes), true; }

  [[nodiscard]] static bool protect(void* p, std::size_t /*bytes*/, bool /*accessible*/) noexcept {
    return p != nullptr;
  }

  /// @{ Refused.
  [[nodiscard]] static bool discard(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool populate(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool advise_huge(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool lock(void*, std::size_t) noexcept { return false; }
  /// @}

  /// Returns: true, since it is not known.
  [[nodiscard]] static bool is_mapped(const void* /*p*/, std::size_t /*bytes*/) noexcept { return true; }
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif
