// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header of a piece of a stack's memory, sealed from level checked on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/seal.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// The memory of a stack lies in chunks; this is in front of each, but for a buffer that somebody else owns.
///
///   | stack_chunk | blocks ... |
///                 begin        end
struct alignas(stack_grain) stack_chunk {
  stack_chunk* below = nullptr;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::byte* top = nullptr;    ///< where blocks end, while the stack stands in a higher chunk
  std::size_t used_below = 0;  ///< bytes in lower chunks
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> seal;

  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end - begin); }
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return sizeof(stack_chunk) + room(); }

  /// Effects: what the header says now is what was meant.
  void set_seal() noexcept { seal.set(right_seal()); }

  /// Returns: whether the header is as it was sealed; always at level `fast`.
  [[nodiscard]] bool is_sound() const noexcept { return seal.is(right_seal()); }

  /// Effects: reports a header that was written to. `stack`: whose it is.
  void expect_sound(const void* stack) const noexcept {
    if (ASHLAR_UNLIKELY(!is_sound())) report_damage(stack);
  }

private:
  [[nodiscard]] std::uintptr_t right_seal() const noexcept { return seal_of(this, below, begin, end, top, used_below); }

  [[noreturn]] ASHLAR_COLD void report_damage(const void* stack) const noexcept {
    report({.kind = fault::underflow,
            .what = "bytes before the first block of a chunk were written to, over the chunk's header",
            .pointer = this,
            .resource = stack});
  }
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
