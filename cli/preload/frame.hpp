// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One frame of a stack, the rule by which its caller's frame is found from a return address, and the step there. Rules
// are compiled from the unwind tables of the program, once for each address. Programs of x86-64 alone.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::recorder {

enum class frame_base : std::uint8_t { unknown, stack_pointer, frame_pointer, none };

/// The canonical frame address (CFA) at one address of code, 8 bytes above the return address. `none`: no caller.
struct frame_rule {
  std::int32_t offset = 0;       ///< From the base to the CFA, in bytes.
  std::int16_t saved_words = 0;  ///< The caller's frame pointer lies this many words below the CFA; 0: in its register.
  frame_base base = frame_base::unknown;

  friend bool operator==(const frame_rule&, const frame_rule&) = default;
};

/// The unwind tables of a loaded file: its .eh_frame_hdr, within [begin, end).
struct unwind_tables {
  const std::byte* header = nullptr;
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

/// Returns: the rule at a return address; `unknown` for one that has no table, or a rule by a DWARF expression or
/// another register, as code has that realigns its stack. Method: the call frame instructions of DWARF 5,
/// section 6.4.2, up to the call. Complexity: O(log functions + instructions). Neither allocates nor locks.
[[nodiscard]] frame_rule compile_rule(const unwind_tables& of, std::uint64_t return_address) noexcept;

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
