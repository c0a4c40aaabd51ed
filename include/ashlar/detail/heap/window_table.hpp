// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bit for each window of the address space: one load tells whether a segment of a guarded heap is there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Windows by address, up to 2^47 on 64 bits: 4 MiB of zero pages, of which those with a set bit become resident.
/// Invariant: a set bit is a window that was entered and has not left. Thread safety: any thread.
class window_table {
public:
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    const std::uintptr_t window = address_of(p) / window_bytes;
    return ASHLAR_LIKELY(window < windows) &&
           (words_[window / 64].load(memory_order_relaxed) >> (window % 64) & 1) != 0;
  }

  /// @{ Expects: the window is mapped meanwhile.
  void enter(const void* p) noexcept {
    const std::uintptr_t window = address_of(p) / window_bytes;
    if (window < windows) words_[window / 64].fetch_or(bit_in(window), memory_order_relaxed);
  }
  void leave(const void* p) noexcept {
    const std::uintptr_t window = address_of(p) / window_bytes;
    if (window < windows) words_[window / 64].fetch_and(~bit_in(window), memory_order_relaxed);
  }
  /// @}

private:
  static constexpr std::size_t windows = std::size_t{1} << (sizeof(void*) == 8 ? 25 : 10);

  [[nodiscard]] static std::uint64_t bit_in(std::uintptr_t window) noexcept {
    return std::uint64_t{1} << (window % 64);
  }

  std::array<atomic<std::uint64_t>, windows / 64> words_ = {};
};

struct no_window_table {};

/// The segments of all guarded heaps of the process, if there can be any.
template <bool AreKept>
inline constinit std::conditional_t<AreKept, window_table, no_window_table> guarded_windows;

}  // namespace ashlar::ASHLAR_ABI::detail
