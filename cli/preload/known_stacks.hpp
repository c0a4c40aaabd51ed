// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's recent stacks: a stack whose words have not changed is not walked again.
//
//     higher   | return address 2 |  <- at[2]     codes[2]
//     addresses|      ...         |
//              | return address 1 |  <- at[1]     codes[1]
//              |      ...         |
//              | return address 0 |  <- at[0] = 0, codes[0]: of the function that asks
//              | frame pointer    |
//
// A walk is a function of its first frame, of the rules at the return addresses, and of the words that it reads: the
// return addresses, and the saved frame pointers that some rule uses. A known stack is taken only if all of them are
// compared and equal, so it is the stack that a walk would find now: after a longjmp, an exception, in a signal
// handler, on a fibre's stack as well. Forgotten rules change the generation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

#include "cli/preload/frame.hpp"

namespace ashlar::recorder {

/// A stack with all that its walk depended on.
struct known_stack {
  static constexpr std::uint32_t most_frames = 16;

  static constexpr std::uint32_t most_words = 2 * most_frames;

  std::uint64_t stack_pointer = 0;  ///< Of the first frame; 0: no stack is known.
  std::uint32_t generation = 0;     ///< Of the rules.
  std::uint32_t id = 0;             ///< For the owner of the stacks; 0 in a new one.
  std::uint16_t count = 0;          ///< Frames.
  std::uint16_t ruled = 0;          ///< Return addresses with a rule.
  std::uint16_t words = 0;          ///< Words that were read: return addresses, then saved frame pointers.
  std::int32_t extent = 0;          ///< Bytes to the last frame's stack pointer.
  std::array<std::uint64_t, most_words> codes = {};
  std::array<std::int32_t, most_words> at = {};       ///< Bytes from the first frame's stack pointer to a word's end.
  std::array<std::uint64_t, most_frames> rules = {};  ///< Packed.
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
  static constexpr std::uint8_t ways = 4;
  static constexpr std::size_t sets = std::size_t{1} << set_bits;

  /// Returns: the set of the stacks that begin alike: with the same two return addresses at the same place.
  [[nodiscard]] static ASHLAR_INLINE std::size_t set_of(const frame& start, const stack_bounds& stack) noexcept;

  std::array<std::uint8_t, sets> recent_, next_;  // of each set: the last one found, the one to be replaced
  std::array<known_stack, sets * ways> stacks_;
  known_stack* last_ = nullptr;  // the most recent one
};

}  // namespace ashlar::recorder
