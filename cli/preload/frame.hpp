// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One frame of a stack, and the step to its caller's.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

#include "cli/preload/frame_rules.hpp"

namespace ashlar::recorder {

/// The addresses of the calling thread's stack; none: `low == high`.
struct stack_bounds {
  std::uintptr_t low = 0, high = 0;

  [[nodiscard]] bool has(std::uintptr_t address) const noexcept { return low <= address && address < high; }
};

[[nodiscard]] ASHLAR_INLINE std::uint64_t word_at(std::uintptr_t address) noexcept {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

/// The registers of a frame that lead to the next one.
struct frame {
  std::uint64_t code, stack_pointer, frame_pointer;

  /// Returns: the caller's frame of the function with this frame pointer; `code` is 0 if it lies outside of the stack.
  [[nodiscard]] static ASHLAR_INLINE frame caller_of(const void* function, const stack_bounds& stack) noexcept {
    const auto start = reinterpret_cast<std::uintptr_t>(function);
    if (ASHLAR_UNLIKELY(!stack.has(start) || stack.high - start < 2 * sizeof(std::uint64_t))) return {};
    return {.code = word_at(start + sizeof(std::uint64_t)),
            .stack_pointer = start + 2 * sizeof(std::uint64_t),
            .frame_pointer = word_at(start)};
  }

  /// Effects: becomes the caller's. Returns: false if it cannot be found on this stack.
  [[nodiscard]] ASHLAR_INLINE bool step(const frame_rule& rule, const stack_bounds& stack) noexcept {
    const std::uint64_t base = rule.base == frame_base::stack_pointer ? stack_pointer : frame_pointer;
    const std::uint64_t cfa = base + static_cast<std::uint64_t>(std::int64_t{rule.offset});
    if (cfa <= stack_pointer || cfa > stack.high || cfa % sizeof(std::uint64_t) != 0) return false;
    const auto saved = static_cast<std::uint64_t>(rule.saved_words) * sizeof(std::uint64_t);
    if (cfa - stack_pointer < saved) return false;
    if (saved != 0) frame_pointer = word_at(cfa - saved);
    code = word_at(cfa - sizeof(std::uint64_t));
    stack_pointer = cfa;
    return true;
  }
};

}  // namespace ashlar::recorder
