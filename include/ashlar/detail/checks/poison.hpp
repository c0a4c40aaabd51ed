// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marks that reveal writes: poison in free bytes, canaries behind a request, guards behind a cell, seals over metadata.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether resources write canaries and poison. AddressSanitizer needs neither: it detects each access at once.
inline constexpr bool keeps_canaries = checking_level >= checking::hardened && !always_marked;

/// Whether the bytes of a cell or block behind its request are watched, by a canary that tells the size of the request.
inline constexpr bool watches_slack = checking_level >= checking::hardened;

/// A word of poison is neither a valid address nor null.
inline constexpr unsigned char poison_byte = 0xFD;

// Returns: the bits in which the word at `p` differs from `expected`.
[[nodiscard]] ASHLAR_INLINE std::uint64_t changed_bits(const void* p, std::uint64_t expected) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof(word));
  return word ^ expected;
}

[[nodiscard]] inline bool are_bytes_filled(const unsigned char* p, std::size_t bytes, unsigned char value) noexcept {
  unsigned char changed = 0;
  for (std::size_t at = 0; at < bytes; ++at) changed |= static_cast<unsigned char>(p[at] ^ value);
  return changed == 0;
}

/// Returns: whether each of the `bytes` bytes at `p` is `value`. Complexity: O(bytes), as fast as `memcmp`.
[[nodiscard]] ASHLAR_INLINE bool is_filled(const void* p, std::size_t bytes, unsigned char value) noexcept {
  const auto* const at = static_cast<const unsigned char*>(p);
  constexpr std::size_t step = sizeof(std::uint64_t);
  if (bytes < step) return detail::are_bytes_filled(at, bytes, value);
  const std::uint64_t expected = 0x0101010101010101u * value;
  const std::uint64_t changed = detail::changed_bits(at, expected) | detail::changed_bits(at + bytes - step, expected);
  if (bytes <= 2 * step) return changed == 0;
  return changed == 0 && std::memcmp(at, at + step, bytes - step) == 0;  // each byte equals the one a step before
}

/// Effects: fills `bytes` free bytes at `p` with poison.
ASHLAR_INLINE void poison_block(void* p, std::size_t bytes) noexcept {
  mark_readable(p, bytes);
  std::memset(p, poison_byte, bytes);
}

/// Returns: whether all of the `bytes` bytes at `p` are poison.
[[nodiscard]] inline bool is_poisoned(const void* p, std::size_t bytes) noexcept {
  return is_filled(p, bytes, poison_byte);
}

/// Effects: reports a write to a free block of `held` bytes of `resource`; does not return.
[[noreturn]] ASHLAR_COLD inline void report_poison(const void* p, std::size_t held, const void* resource) noexcept {
  report({.kind = fault::corrupt_link,
          .what = "a free block was written to",
          .pointer = p,
          .resource = resource,
          .size = held});
}

/// Effects: reports a free block of `held` bytes if its poison, the first `bytes` bytes, has changed. Tools consider
/// these bytes readable from then on.
ASHLAR_INLINE void verify_poison(const void* p, std::size_t bytes, std::size_t held, const void* resource) noexcept {
  mark_readable(p, bytes);
  if (ASHLAR_UNLIKELY(!is_poisoned(p, bytes))) report_poison(p, held, resource);
}

/// The bytes from `begin` up to `end`. After every operation they are free for tools, too.
struct poison_range {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;

  [[nodiscard]] bool is_empty() const noexcept { return begin == end; }
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }

  /// Returns: the intersection with the range from `from` up to `to`.
  [[nodiscard]] poison_range within(std::byte* from, std::byte* to) const noexcept {
    const poison_range cut = {detail::max(begin, from), detail::min(end, to)};
    return cut.begin < cut.end ? cut : poison_range{};
  }

  /// Effects: fills the range with poison. Complexity: O(bytes).
  void poison() const noexcept {
    if (is_empty()) return;
    poison_block(begin, bytes());
    mark_free(begin, bytes());
  }

  /// Returns: the first byte that is not poison, or null. Complexity: O(bytes).
  [[nodiscard]] const std::byte* first_changed() const noexcept {
    if (is_empty()) return nullptr;
    mark_readable(begin, bytes());
    const std::byte* changed = nullptr;
    if (ASHLAR_UNLIKELY(!is_poisoned(begin, bytes())))
      for (changed = begin; *changed == std::byte{poison_byte};) ++changed;
    mark_free(begin, bytes());
    return changed;
  }

  /// Effects: reports the first byte that is not poison. `held`: the size of the free block in bytes.
  void verify(std::size_t held, const void* resource) const noexcept {
    if (const std::byte* const changed = first_changed(); ASHLAR_UNLIKELY(changed != nullptr))
      report_poison(changed, held, resource);
  }
};

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

/// Effects: writes the canary after the first `bytes` of `held` bytes.
inline void fill_watched_slack(std::byte* data, std::size_t bytes, std::size_t held) noexcept {
  mark_readable(data + bytes, held - bytes);
  fill_slack(data, bytes, held);
  mark_free(data + bytes, held - bytes);
}

/// Returns: as `look_at_slack`.
[[nodiscard]] inline slack_state look_at_watched_slack(const std::byte* data, std::size_t bytes,
                                                       std::size_t held) noexcept {
  mark_readable(data + bytes, held - bytes);
  const slack_state found = look_at_slack(data, bytes, held);
  mark_free(data + bytes, held - bytes);
  return found;
}

/// Effects: reports a write past the `expected` bytes of a block, up to `got`; does not return. `size`: the block's
/// size in the report, 0 if the resource does not know it.
[[noreturn]] ASHLAR_COLD inline void report_write_behind(const void* p, std::size_t size, std::size_t expected,
                                                         std::size_t got, const void* resource) noexcept {
  report({.kind = fault::overflow,
          .what = "bytes past the end of a block were written to",
          .pointer = p,
          .resource = resource,
          .size = size,
          .expected = expected,
          .got = got});
}

/// Effects: reports a write before a block; does not return.
[[noreturn]] ASHLAR_COLD inline void report_write_before(const void* p, std::size_t size,
                                                         const void* resource) noexcept {
  report({.kind = fault::underflow,
          .what = "bytes before a block were written to",
          .pointer = p,
          .resource = resource,
          .size = size});
}

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

template <class T>
[[nodiscard]] std::uint64_t word_to_seal(const T& word) noexcept {
  if constexpr (std::is_pointer_v<T>) return address_of(word);
  else return std::uint64_t{word};
}

/// Returns: the check word of `words` at address `where`. It depends on every bit of the words and of the address:
/// overwritten or copied metadata matches its seal with a probability of 2^-64 (2^-32 on 32 bits). An attacker without
/// the address cannot compute it; it is not cryptographic against one with the address.
template <class... Words>
  requires((std::is_pointer_v<Words> || std::unsigned_integral<Words>) && ...)
[[nodiscard]] std::uintptr_t seal_of(const void* where, Words... words) noexcept {
  std::uint64_t sum = address_of(where) * std::uint64_t{0x9E3779B97F4A7C15u};
  ((sum = (sum ^ detail::word_to_seal(words)) * 0xBF58476D1CE4E5B9u, sum ^= sum >> 29), ...);
  return static_cast<std::uintptr_t>(sum ^ (sum >> 32));
}

/// A check word in a header, present from level `checked` on; at `fast` it takes no memory and always matches. `Place`
/// distinguishes two of them in one header.
template <int Place>
class seal_word {
public:
  void set(std::uintptr_t right) noexcept {
    if (word_) word_->value = right;
  }
  [[nodiscard]] bool is(std::uintptr_t right) const noexcept { return !word_ || word_->value == right; }

private:
  struct word {
    std::uintptr_t value = 0;
  };
  ASHLAR_NO_UNIQUE_ADDRESS if_checked<word> word_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
