// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marks that reveal writes: poison in free bytes, canaries behind a request, guards behind a cell, seals over metadata.
#pragma once

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
#include <ashlar/os/random_bits.hpp>

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

/// Effects: writes the canary after the first `bytes` bytes of a cell. Expects: `bytes <= cell_bytes`.
/// Complexity: O(slack), 8 bytes a step.
inline void fill_slack(void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  auto* const data = static_cast<std::byte*>(cell);
  fill_canary(data + bytes, data + cell_bytes, bytes);
}

// Returns: the last eight bytes of a cell as canary for `bytes` bytes.
[[nodiscard]] ASHLAR_INLINE std::uint64_t canary_at_end(const std::byte* end, std::size_t bytes) noexcept {
  return canary_secret::word_at(end - sizeof(std::uint64_t)) ^ canary_of_size(bytes);
}

/// As `fill_slack`, for a cell without contents yet: a short canary may overlap the bytes in front of the slack.
ASHLAR_INLINE void fill_fresh_slack(void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  if (bytes == cell_bytes) return;
  if (cell_bytes < sizeof(std::uint64_t) || cell_bytes - bytes > sizeof(std::uint64_t))
    return fill_slack(cell, bytes, cell_bytes);
  std::byte* const end = static_cast<std::byte*>(cell) + cell_bytes;
  const std::uint64_t canary = detail::canary_at_end(end, bytes);
  std::memcpy(end - sizeof canary, &canary, sizeof canary);
}

/// Returns: whether the canary for `bytes` bytes is intact. Expects: `bytes <= cell_bytes`.
[[nodiscard]] ASHLAR_INLINE bool is_slack_intact(const void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  const auto* const data = static_cast<const std::byte*>(cell);
  if (bytes == cell_bytes) return true;
  if (cell_bytes < sizeof(std::uint64_t) || cell_bytes - bytes > sizeof(std::uint64_t))
    return is_canary(data + bytes, data + cell_bytes, bytes);
  const std::byte* const end = data + cell_bytes;
  const std::uint64_t changed = changed_bits(end - sizeof changed, detail::canary_at_end(end, bytes));
  const std::size_t before = (sizeof changed - (cell_bytes - bytes)) * 8;  // bits of the bytes in front of the slack
  return (std::endian::native == std::endian::little ? changed >> before : changed << before) == 0;
}

// Returns: the size, modulo the period, that the canary byte at `p` encodes.
[[nodiscard]] inline std::size_t slack_size(const std::byte* p) noexcept {
  return std::to_integer<std::size_t>(*p ^ canary_byte(p)) % canary_period;
}

/// Returns: whether the canary for `bytes` bytes is intact; if not, the size that was requested (decoded from the rest
/// of the canary, else `bytes`) and the end of the bytes written after it. Expects: `bytes <= cell_bytes`.
[[nodiscard]] inline slack_state look_at_slack(const void* cell, std::size_t bytes, std::size_t cell_bytes) noexcept {
  const auto* const data = static_cast<const std::byte*>(cell);
  const std::byte* const end = data + cell_bytes;
  if (ASHLAR_LIKELY(is_canary(data + bytes, end, bytes))) return {};
  const std::byte* const changed = end_of_changes(data + bytes, end, bytes);  // the caller's bytes may be unwritten
  const slack_state overflow = {
      .is_intact = false, .allocated = bytes, .written_to = static_cast<std::size_t>(changed - data)};
  if (changed != end || cell_bytes == 0) return overflow;  // the end still encodes `bytes`
  const std::size_t size = detail::slack_size(end - 1);
  const auto start = static_cast<std::size_t>(end_of_changes(data, end, size) - data);
  const std::size_t allocated = start + (size - start) % canary_period;
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

/// Effects: fills `bytes` bytes at `p` as a guard.
inline void fill_guard(void* p, std::size_t bytes) noexcept {
  auto* const guard = static_cast<std::byte*>(p);
  mark_readable(p, bytes);
  fill_canary(guard, guard + bytes);
  mark_free(p, bytes);
}

/// Returns: whether the whole guard is intact.
[[nodiscard]] inline bool is_guard_intact(const void* p, std::size_t bytes) noexcept {
  const auto* const guard = static_cast<const std::byte*>(p);
  mark_readable(p, bytes);
  const bool is_intact = is_canary(guard, guard + bytes);
  mark_free(p, bytes);
  return is_intact;
}

/// Returns: whether the byte before a block is canary: the last byte of a guard, or of a live block.
[[nodiscard]] ASHLAR_INLINE bool is_canary_before(const void* p) noexcept {
  const auto* const front = static_cast<const unsigned char*>(p) - 1;
  mark_readable(front, 1);
  const bool is_intact = *front == canary_secret::byte(front);
  mark_free(front, 1);
  return is_intact;
}

/// Returns: the number of bytes up to the last damaged byte of a guard.
[[nodiscard]] ASHLAR_COLD inline std::size_t guard_damage(const void* p, std::size_t bytes) noexcept {
  const auto* const guard = static_cast<const std::byte*>(p);
  mark_readable(p, bytes);
  return static_cast<std::size_t>(end_of_changes(guard, guard + bytes) - guard);
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
