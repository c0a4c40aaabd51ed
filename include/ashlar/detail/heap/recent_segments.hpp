// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recently used segments of a heap: a comparison without a hash finds whether an address lies in one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A direct-mapped cache in front of a `page_map`. A window that leaves the map leaves the cache.
/// Thread safety: none. Complexity: O(1).
class recent_segments {
public:
  recent_segments() noexcept { clear(); }

  /// Returns: whether the address lies in a noted segment that still exists; false is a hint only. `p` is not read.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    return numbers_[number_of(p) % remote_free_infos] == number_of(p);
  }

  /// Expects: `p` lies in a segment of the map.
  void note(const void* p) noexcept { numbers_[number_of(p) % remote_free_infos] = number_of(p); }

  void clear() noexcept { numbers_.fill(max_size); }

private:
  static constexpr std::size_t remote_free_infos = 16;

  [[nodiscard]] static ASHLAR_INLINE std::size_t number_of(const void* p) noexcept {
    return address_of(p) / window_bytes;
  }

  std::array<std::size_t, remote_free_infos> numbers_;
};

/// The same at level `fast`, which asks for no segment.
class no_recent_segments {
public:
  [[nodiscard]] static bool has(const void* /*p*/) noexcept { return false; }
  static void note(const void* /*p*/) noexcept {}
  static void clear() noexcept {}
};

using recent_segments_if_checked =
    std::conditional_t<checking_level >= checking::checked, recent_segments, no_recent_segments>;

}  // namespace ashlar::ASHLAR_ABI::detail
