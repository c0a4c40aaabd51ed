// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's recent stacks: a stack whose words have not changed is not walked again.
//
//     higher   | return address 2 |  <- at[2]     codes[2]
//     addresses|      ...         |
//              | return address 1 |  <- at[1]     codes[1]
//              |      ...         |
//              | return address 0 |  <- at[0] = 0, codes[0]: of the function that asks
//
// A walk is a function of its first frame, of the rules at the return addresses, and of the words that it reads: the
// return addresses, and the saved frame pointers that some rule uses. A known stack is taken only if all of them are
// compared and equal, so it is the stack that a walk would find now: after a longjmp, an exception, in a signal
// handler, on a fibre's stack as well. Forgotten rules change the generation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/detail/support/hints.hpp>

#include "cli/preload/frame.hpp"

namespace ashlar::recorder {

/// A stack with all that its walk depended on.
struct known_stack {
  static constexpr std::uint32_t most_frames = 32;

  std::uint64_t stack_pointer = 0;  ///< Of the first frame; 0: no stack is known.
  std::uint32_t generation = 0;     ///< Of the rules.
  std::uint32_t id = 0;             ///< For the owner of the stacks; 0 in a new one.
  std::uint16_t count = 0;          ///< Frames.
  std::uint16_t words = 0;          ///< Return addresses that were read: a 0 may end the frames.
  std::uint16_t ruled = 0;          ///< Of them, those with a rule.
  bool uses_frame_pointer = false;
  std::array<std::uint64_t, most_frames + 1> codes = {};
  std::array<std::uint32_t, most_frames + 1> at = {};  ///< Bytes from the first frame's stack pointer to each frame's.
  std::array<std::uint64_t, most_frames + 1> rules = {};  ///< Packed.
};

/// All zeros know no stack. For one thread at a time, and not for its signal handlers in between.
class known_stacks {
public:
  /// Returns: the calling thread's stack from a function on, as `walk_stack` finds it; null if that refuses it. The
  /// result holds until the next call. Expects: `most` is 1 to `known_stack::most_frames`. Complexity: a comparison a
  /// word for one of the recent stacks; otherwise a walk.
  [[nodiscard]] known_stack* find(std::uint32_t most, const void* function, const stack_bounds& stack) noexcept;

private:
  static constexpr unsigned set_bits = 9;
  static constexpr std::uint32_t ways = 4;

  /// Stacks that begin alike.
  struct set {
    std::array<known_stack, ways> stacks;
    std::uint32_t recent = 0;
    std::uint32_t next = 0;  ///< The one to be replaced.
  };

  [[nodiscard]] ASHLAR_INLINE set& set_of(const frame& start) noexcept {
    const std::uint64_t mixed = ((start.code << 32 | start.code >> 32) ^ start.stack_pointer) * 0x9E3779B97F4A7C15;
    return sets_[mixed >> (64 - set_bits)];
  }

  std::array<set, std::size_t{1} << set_bits> sets_;
  known_stack* last_ = nullptr;  // the most recent one
};

}  // namespace ashlar::recorder
