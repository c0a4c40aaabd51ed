// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a heap writes around the life of a block at level hardened: a canary behind it, poison where it has died.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/part/poison.hpp>
#include <ashlar/part/slack.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// So many bytes of a dead block hold poison.
inline constexpr std::size_t most_buried = 64;
/// Effects: fills the start of a dead block of `held` bytes with poison.
ASHLAR_INLINE void bury(void* p, std::size_t held) noexcept { poison_block(p, std::min(held, most_buried)); }

/// Effects: reports a dead block of `held` bytes whose poison was written to. Tools take that for alive now.
inline void expect_buried(const void* p, std::size_t held, const void* heap) noexcept {
  verify_poison(p, std::min(held, most_buried), held, heap);
  mark_live(p, std::min(held, most_buried));
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
