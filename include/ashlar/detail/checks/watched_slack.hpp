// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The canary after a block, marked as free for memory checkers, and the reports of writes beside a block.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/slack.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

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

}  // namespace ashlar::ASHLAR_ABI::detail
