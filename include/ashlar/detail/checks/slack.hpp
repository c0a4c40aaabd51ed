// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The slack of a cell, its bytes after the requested size: filled with a canary that encodes the requested size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The state of a cell's slack at deallocation.
struct slack_state {
  bool is_intact = true;
  std::size_t allocated = 0;   ///< requested bytes, as decoded from the canary
  std::size_t written_to = 0;  ///< one past the last byte that is not canary
};

inline constexpr std::size_t slack_period = 128;

// This phase makes the first canary byte after every size differ from letters, digits, space, 1 and 0xFF.
inline constexpr std::size_t slack_phase = 77;

// Seven bits of the size and the position, so that neighbours differ; never 0, so that a string terminator is detected.
[[nodiscard]] inline std::byte slack_byte(std::size_t bytes, std::size_t at) noexcept {
  return static_cast<std::byte>(((bytes + at * 79 + slack_phase) % slack_period) << 1 | 1);
}

inline constexpr std::uint64_t each_lane = 0x0101010101010101u;

// The eight canary bytes from `at` on as one word in memory order, each shifted right by one bit: a lane holds the sum
// of two 7-bit numbers, so no carry leaves it.
[[nodiscard]] ASHLAR_INLINE std::uint64_t slack_lanes(std::size_t bytes, std::size_t at) noexcept {
  constexpr auto places = std::bit_cast<std::uint64_t>(std::array<std::uint8_t, 8>{
      0, 79, 79 * 2 % 128, 79 * 3 % 128, 79 * 4 % 128, 79 * 5 % 128, 79 * 6 % 128, 79 * 7 % 128});
  return ((bytes + at * 79 + slack_phase) % slack_period * each_lane + places) & each_lane * (slack_period - 1);
}

// The lanes of the next eight bytes.
[[nodiscard]] ASHLAR_INLINE std::uint64_t next_lanes(std::uint64_t lanes) noexcept {
  return (lanes + 79 * 8 % slack_period * each_lane) & each_lane * (slack_period - 1);
}

[[nodiscard]] ASHLAR_INLINE std::uint64_t slack_word(std::uint64_t lanes) noexcept { return lanes << 1 | each_lane; }
[[nodiscard]] ASHLAR_INLINE std::uint64_t slack_word(std::size_t bytes, std::size_t at) noexcept {
  return slack_word(slack_lanes(bytes, at));
}

ASHLAR_INLINE void put_slack(void* cell, std::size_t at, std::uint64_t word) noexcept {
  std::memcpy(static_cast<std::byte*>(cell) + at, &word, sizeof(word));
}

// Returns: whether the canary for `bytes` bytes is intact. Complexity: O(slack), 8 bytes a step.
[[nodiscard]] inline bool is_slack_whole(const std::byte* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  constexpr std::size_t step = sizeof(std::uint64_t);
  std::size_t at = bytes;
  if (cell_bytes - bytes >= step) {
    const std::size_t last = cell_bytes - step;  // it may overlap the last whole step
    std::uint64_t changed = changed_bits(cell + last, slack_word(bytes, last));
    for (std::uint64_t lanes = slack_lanes(bytes, at); at < last; at += step, lanes = next_lanes(lanes))
      changed |= changed_bits(cell + at, slack_word(lanes));
    return changed == 0;
  }
  while (at < cell_bytes && cell[at] == slack_byte(bytes, at)) ++at;
  return at == cell_bytes;
}

// As `is_slack_whole`, for less than 8 bytes of slack in a cell of at least 8 bytes: compares the last word of the cell
// without its bytes in front of the slack.
[[nodiscard]] ASHLAR_INLINE bool is_end_whole(const std::byte* cell, std::size_t bytes,
                                              std::size_t cell_bytes) noexcept {
  const std::size_t at = cell_bytes - sizeof(std::uint64_t);
  const std::uint64_t changed = changed_bits(cell + at, slack_word(bytes, at));
  const std::size_t before = (bytes - at) * 8;  // bits
  return (std::endian::native == std::endian::little ? changed >> before : changed << before) == 0;
}

// Returns: the size, modulo the period, that the canary byte at `at` encodes.
[[nodiscard]] inline std::size_t slack_size(std::byte canary, std::size_t at) noexcept {
  return ((std::to_integer<std::size_t>(canary) >> 1) - at * 79 - slack_phase) % slack_period;
}

// Returns: the start of the intact canary for `bytes` bytes at the end of the cell, at least `least`.
[[nodiscard]] inline std::size_t slack_start(const std::byte* cell, std::size_t bytes, std::size_t cell_bytes,
                                             std::size_t least) noexcept {
  std::size_t start = cell_bytes;
  while (start > least && cell[start - 1] == slack_byte(bytes, start - 1)) --start;
  return start;
}

/// Effects: writes the canary after the first `bytes` bytes of a cell. Expects: `bytes <= cell_bytes`.
/// Complexity: O(slack), 8 bytes a step.
inline void fill_slack(void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  auto* const data = static_cast<std::byte*>(cell);
  std::size_t at = bytes;
  std::uint64_t lanes = detail::slack_lanes(bytes, at);
  for (; cell_bytes - at >= sizeof(lanes); at += sizeof(lanes), lanes = detail::next_lanes(lanes))
    detail::put_slack(data, at, detail::slack_word(lanes));
  for (; at < cell_bytes; ++at) data[at] = detail::slack_byte(bytes, at);
}

/// As `fill_slack`, for a cell without contents yet: the last word may overlap the bytes in front of the slack.
ASHLAR_INLINE void fill_fresh_slack(void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  if (bytes == cell_bytes) return;
  if (cell_bytes < sizeof(std::uint64_t)) return fill_slack(cell, bytes, cell_bytes);
  const std::size_t last = cell_bytes - sizeof(std::uint64_t);
  std::uint64_t lanes = detail::slack_lanes(bytes, bytes);
  for (std::size_t at = bytes; at < last; at += sizeof(lanes), lanes = detail::next_lanes(lanes))
    detail::put_slack(cell, at, detail::slack_word(lanes));
  detail::put_slack(cell, last, detail::slack_word(bytes, last));
}

/// Returns: whether the canary for `bytes` bytes is intact. Expects: `bytes <= cell_bytes`.
[[nodiscard]] ASHLAR_INLINE bool is_slack_intact(const void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  const auto* const data = static_cast<const std::byte*>(cell);
  if (bytes == cell_bytes) return true;
  if (cell_bytes < sizeof(std::uint64_t) || cell_bytes - bytes >= sizeof(std::uint64_t))
    return detail::is_slack_whole(data, bytes, cell_bytes);
  return detail::is_end_whole(data, bytes, cell_bytes);
}

/// Returns: whether the canary for `bytes` bytes is intact; if not, the size that was requested (decoded from the rest
/// of the canary, else `bytes`) and the end of the bytes written after it. Expects: `bytes <= cell_bytes`.
[[nodiscard]] inline slack_state look_at_slack(const void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  const auto* const data = static_cast<const std::byte*>(cell);
  if (ASHLAR_LIKELY(detail::is_slack_whole(data, bytes, cell_bytes))) return {};
  const std::size_t start =
      detail::slack_start(data, bytes, cell_bytes, bytes);  // the caller may not have written its bytes
  const slack_state overflow = {.is_intact = false, .allocated = bytes, .written_to = start};
  if (start != cell_bytes || cell_bytes == 0) return overflow;  // the end still encodes `bytes`
  const std::size_t size = detail::slack_size(data[cell_bytes - 1], cell_bytes - 1);
  const std::size_t other_start = detail::slack_start(data, size, cell_bytes, 0);
  const std::size_t allocated = other_start + (size - other_start) % detail::slack_period;
  if (allocated >= cell_bytes) return overflow;
  return {.is_intact = false, .allocated = allocated, .written_to = cell_bytes};
}

}  // namespace ashlar::ASHLAR_ABI::detail
