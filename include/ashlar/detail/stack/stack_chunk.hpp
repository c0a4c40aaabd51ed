// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header of a chunk of a stack's memory, sealed from level checked on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/seal.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The memory of a stack consists of chunks. This header begins each of them, except for a buffer of the caller.
///
///       | stack_chunk | blocks ... |
///                     begin        end
struct alignas(stack_grain) stack_chunk {
  stack_chunk* below = nullptr;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::byte* top = nullptr;    ///< the end of the blocks, while a higher chunk is in use
  std::size_t used_below = 0;  ///< bytes in lower chunks
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> seal;

  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end - begin); }
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return sizeof(stack_chunk) + room(); }

  /// Effects: seals the present content.
  void set_seal() noexcept { seal.set(right_seal()); }

  /// Returns: whether the header still has its seal; always true at level `fast`.
  [[nodiscard]] bool is_sound() const noexcept { return seal.is(right_seal()); }

  /// Effects: reports a header that was overwritten. `stack` is its owner.
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

}  // namespace ashlar::ASHLAR_ABI::detail
