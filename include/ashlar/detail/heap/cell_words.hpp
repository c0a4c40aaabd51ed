// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cells that are zero while they are free: cleared, verified, and given a canary by words, without calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Up to this size, in bytes, a call of `memset` or `memcmp` costs more than the words themselves.
inline constexpr std::size_t most_by_words = 256;
inline constexpr std::size_t most_class_by_words = size_classes::of(most_by_words);

/// The bytes of a granule: the unit of all cells.
struct granule_words {
  static constexpr std::size_t bytes = size_classes::granule;

  [[nodiscard]] static ASHLAR_INLINE granule_words at(const void* p) noexcept {
    granule_words read;
    std::memcpy(&read, p, bytes);
    return read;
  }

  /// Returns: the bits of both words.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t any() const noexcept { return low | high; }

  std::uint64_t low, high;
};
static_assert(sizeof(granule_words) == granule_words::bytes);

/// Effects: calls `f(offset)` for each granule, for some of the first four more than once: sizes up to four granules
/// take the same instructions, as processors do not foresee sizes. Expects: `bytes` is a positive multiple of a
/// granule.
template <class F>
ASHLAR_INLINE void for_each_granule(std::size_t bytes, F f) noexcept {
  constexpr std::size_t step = granule_words::bytes;
  const std::size_t last = bytes - step;
  f(std::size_t{0});
  f(detail::min(step, last));
  f(detail::min(2 * step, last));
  f(last);
  for (std::size_t at = 3 * step; ASHLAR_UNLIKELY(at < last); at += step) {
    f(at);
    ASHLAR_IN_REGISTER(at);  // otherwise compilers make a call of `memset` of the loop
  }
}

/// Returns: whether all bytes are zero. Expects: `bytes` is a positive multiple of a granule.
[[nodiscard]] ASHLAR_INLINE bool are_words_zero(const void* p, std::size_t bytes) noexcept {
  const auto* const cell = static_cast<const std::byte*>(p);
  std::uint64_t any = 0;
  detail::for_each_granule(bytes, [&](std::size_t at) { any |= granule_words::at(cell + at).any(); });
  return any == 0;
}

/// As above, for any number of granules. Complexity: O(bytes).
[[nodiscard]] ASHLAR_INLINE bool is_zero(const void* p, std::size_t bytes) noexcept {
  return ASHLAR_LIKELY(bytes <= most_by_words) ? are_words_zero(p, bytes) : is_filled(p, bytes, 0);
}

/// Effects: clears free memory. Expects: as `are_words_zero`.
ASHLAR_INLINE void clear_words(void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  constexpr granule_words zero = {};
  auto* const cell = static_cast<std::byte*>(p);
  detail::for_each_granule(bytes, [&](std::size_t at) { std::memcpy(cell + at, &zero, granule_words::bytes); });
}

/// As above, for any number of granules. Complexity: O(bytes).
ASHLAR_INLINE void clear_free(void* p, std::size_t bytes) noexcept {
  ASHLAR_LIKELY(bytes <= most_by_words) ? clear_words(p, bytes) : fill_free(p, bytes, 0);
}

/// All bits of the canary's bytes in a last granule with `n` bytes of canary: the 16 bytes from byte `n` on.
alignas(32) inline constexpr auto canary_mask = [] {
  std::array<unsigned char, 2 * granule_words::bytes> made{};
  for (std::size_t i = granule_words::bytes; i < made.size(); ++i) made[i] = 0xFF;
  return made;
}();

/// Returns: the canary of a granule.
[[nodiscard]] ASHLAR_INLINE granule_words canary_of_granule(const void* at) noexcept {
  return {canary_secret::word(address_of(at)), canary_secret::word(address_of(at) + sizeof(std::uint64_t))};
}

/// Returns: whether the canary of a request is in the last granule of its cell of `held` bytes: up to `most_by_words`
/// it is, unless the request was for another alignment.
[[nodiscard]] ASHLAR_INLINE bool has_canary_in_granule(std::size_t bytes, std::size_t held) noexcept {
  return ASHLAR_LIKELY(held - bytes <= granule_words::bytes);
}

/// Effects: writes the canary after the first `bytes` bytes of a cell of `held` bytes. Expects: the cell is zero,
/// `has_canary_in_granule`.
ASHLAR_INLINE void write_last_granule(void* cell, std::size_t bytes, std::size_t held) noexcept {
  mark_readable(cell, held);
  std::byte* const at = static_cast<std::byte*>(cell) + held - granule_words::bytes;
  const granule_words mask = granule_words::at(&canary_mask[held - bytes]), canary = canary_of_granule(at);
  const granule_words last = {canary.low & mask.low, canary.high & mask.high};
  std::memcpy(at, &last, granule_words::bytes);
}

/// Returns: whether the canary after the first `bytes` bytes of a cell is intact. Expects: `has_canary_in_granule`.
[[nodiscard]] ASHLAR_INLINE bool is_last_granule_whole(const void* cell, std::size_t bytes, std::size_t held) noexcept {
  const std::size_t slack = held - bytes;
  mark_readable(static_cast<const std::byte*>(cell) + bytes, slack);
  const std::byte* const at = static_cast<const std::byte*>(cell) + held - granule_words::bytes;
  const granule_words last = granule_words::at(at), whole = canary_of_granule(at);
  const granule_words mask = granule_words::at(&canary_mask[slack]);
  const bool is_intact = (((last.low ^ whole.low) & mask.low) | ((last.high ^ whole.high) & mask.high)) == 0;
  mark_free(static_cast<const std::byte*>(cell) + bytes, slack);
  return is_intact;
}

}  // namespace ashlar::ASHLAR_ABI::detail
