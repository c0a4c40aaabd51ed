// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a heap writes around the life of a block at level hardened: a canary behind it, poison where it has died.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/part/poison.hpp>
#include <ashlar/part/slack.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// Returns: what a request counts as where its size is kept.
[[nodiscard]] constexpr std::size_t at_least_one_byte(std::size_t bytes) noexcept {
  return std::max<std::size_t>(bytes, 1);
}

/// Returns: what a request for `bytes` takes with a byte of canary behind it, whatever it fits; `bytes` where no canary
/// is kept.
[[nodiscard]] constexpr std::size_t with_canary(std::size_t bytes) noexcept {
  if constexpr (!keeps_canaries) return bytes;
  else return bytes < max_size ? at_least_one_byte(bytes) + 1 : bytes;
}

/// What two bytes say of a cell instead of the size that was asked for.
inline constexpr std::uint16_t never_used = 0;  ///< or its contents were dropped
inline constexpr std::uint16_t dead_cell = 0xFFFF;

/// So many bytes before a cell are looked at when it dies.
inline constexpr std::size_t watched_front = 8;

/// So many bytes of a dead block hold poison; of a larger cell the last ones too.
inline constexpr std::size_t most_buried = 4096;
inline constexpr std::size_t buried_at_end = 64;

/// Effects: fills a dead block of `held` bytes with poison: all of it, or the start and the end.
ASHLAR_INLINE void bury(void* p, std::size_t held) noexcept {
  poison_block(p, std::min(held, most_buried));
  if (held > most_buried + buried_at_end)
    poison_block(static_cast<std::byte*>(p) + held - buried_at_end, buried_at_end);
}

/// Effects: reports a dead block of `held` bytes whose poison was written to. Tools take that for alive now.
inline void expect_buried(const void* p, std::size_t held, const void* heap) noexcept {
  verify_poison(p, std::min(held, most_buried), held, heap);
  mark_live(p, std::min(held, most_buried));
  if (held <= most_buried + buried_at_end) return;
  const auto* const end = static_cast<const std::byte*>(p) + held;
  mark_readable(end - buried_at_end, buried_at_end);
  if (ASHLAR_UNLIKELY(!is_poisoned(end - buried_at_end, buried_at_end))) report_poison(p, held, heap);
}

/// Returns: whether the last bytes of a block of `held` bytes are the canary of one that has `bytes`, 8 at most.
[[nodiscard]] inline bool ends_in_canary(const void* p, std::size_t bytes, std::size_t held) noexcept {
  const auto* const data = static_cast<const std::byte*>(p);
  const std::size_t first = std::max(bytes, held - 8);
  mark_readable(data + first, held - first);
  bool intact = true;
  for (std::size_t at = first; at < held; ++at) intact &= data[at] == detail::slack_byte(bytes, at);
  mark_free(data + first, held - first);
  return intact;
}

/// Returns: whether the bytes before a cell are poison still.
[[nodiscard]] inline bool is_poison_before(const void* cell) noexcept {
  const auto* const front = static_cast<const std::byte*>(cell) - watched_front;
  mark_readable(front, watched_front);
  const bool intact = is_poisoned(front, watched_front);
  mark_free(front, watched_front);
  return intact;
}

/// Effects: writes the canary behind the first `bytes` bytes of a block, up to `end`; nothing where none is kept.
inline void write_canary(void* p, std::size_t bytes, std::size_t end) noexcept {
  if constexpr (keeps_canaries) {
    mark_readable(static_cast<std::byte*>(p) + bytes, end - bytes);
    fill_slack(p, bytes, end);
  }
}

/// Effects: tells tools which bytes of a block of `held` bytes are its caller's: the first `bytes`, of which `were`
/// have contents already.
ASHLAR_INLINE void mark_block(const void* p, std::size_t were, std::size_t bytes, std::size_t held) noexcept {
  const auto* const data = static_cast<const std::byte*>(p);
  if (bytes > were) mark_live(data + were, bytes - were);
  mark_free(data + bytes, held - bytes);
}

/// Effects: reports a live block in front of which was written.
[[noreturn]] ASHLAR_COLD inline void report_underflow(const void* p, std::size_t bytes, const void* heap) noexcept {
  report({.kind = fault::underflow,
          .what = "bytes before a block were written to",
          .pointer = p,
          .resource = heap,
          .size = bytes});
}

/// Effects: reports a live block of `bytes` bytes behind which, up to `end`, was written.
inline void expect_canary(const void* p, std::size_t bytes, std::size_t end, const void* heap) noexcept {
  const auto* const slack = static_cast<const std::byte*>(p) + bytes;
  mark_readable(slack, end - bytes);
  const slack_state found = look_at_slack(p, bytes, end);
  if (ASHLAR_LIKELY(found.is_intact)) return mark_free(slack, end - bytes);
  report({.kind = fault::overflow,
          .what = "bytes behind a block were written to",
          .pointer = p,
          .resource = heap,
          .size = bytes,
          .expected = bytes,
          .got = found.written_to});
}

}  // namespace ashlar::inline ASHLAR_ABI
