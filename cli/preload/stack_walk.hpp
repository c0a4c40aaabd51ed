// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fast walk of the calling thread's stack: rules of frames come from a cache, filled from the unwind tables; a recent
// stack of the thread whose words have not changed is not walked again.
#pragma once

#include <array>
#include <utility>

#include <ashlar/base/config.hpp>

#include "cli/preload/frame.hpp"
#include "cli/preload/sleeping_lock.hpp"

namespace ashlar::recorder {

/// A rule in one word, so that it is read whole.
[[nodiscard]] constexpr std::uint64_t packed(const frame_rule& r) noexcept {
  return static_cast<std::uint32_t>(r.offset) | std::uint64_t{static_cast<std::uint16_t>(r.saved_words)} << 32 |
         std::uint64_t{static_cast<std::uint8_t>(r.base)} << 48;
}
[[nodiscard]] constexpr frame_rule unpacked(std::uint64_t word) noexcept {
  return {.offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(word)),
          .saved_words = static_cast<std::int16_t>(static_cast<std::uint16_t>(word >> 32)),
          .base = static_cast<frame_base>(static_cast<std::uint8_t>(word >> 48))};
}

/// The rules of frames at all return addresses that threads have met, compiled once for each: a hash table of packed
/// rules. Found without a lock, added under one.
class rule_cache {
public:
  /// Effects: looks up what the search for tables needs. Returns: whether it is there.
  [[nodiscard]] bool prepare() noexcept;

  /// Returns: the packed rule at a return address. Complexity: some ns; microseconds for an address that is new.
  /// Neither allocates nor waits, but for a thread that adds a rule.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t at(std::uint64_t address) noexcept {
    const slot& s = find_slot(address);
    const std::uint64_t word = s.rule.load(std::memory_order_acquire);  // before the address is read again
    if (ASHLAR_UNLIKELY(s.address.load(std::memory_order_relaxed) != address)) return add(address);
    return word;
  }

  /// Effects: forgets all rules: code may have gone, and other code come to its place.
  void forget() noexcept;

  /// Effects: in a forked child: a thread that it lacks may have held the lock. No known stack holds any more.
  void reset() noexcept {
    lock_.unlock();
    next_generation();
  }

  /// Returns: a number that `forget()` and `reset()` change.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_relaxed); }

private:
  static constexpr std::size_t slots = std::size_t{1} << 16;
  static constexpr std::uint32_t most = slots / 2;

  struct slot {
    std::atomic<std::uint64_t> address = 0;  ///< 0 = empty.
    std::atomic<std::uint64_t> rule = 0;     ///< Written before the address is released.
  };

  [[nodiscard]] ASHLAR_INLINE slot& find_slot(std::uint64_t address) noexcept {
    for (std::size_t at = address ^ address >> 16;; ++at) {
      slot& s = slots_[at % slots];
      const std::uint64_t there = s.address.load(std::memory_order_acquire);  // pairs with the release in add()
      if (there == address || there == 0) return s;
    }
  }
  ASHLAR_COLD std::uint64_t add(std::uint64_t address) noexcept;
  void next_generation() noexcept { generation_.fetch_add(1, std::memory_order_relaxed); }

  slot slots_[slots] = {};
  sleeping_lock lock_;
  std::uint32_t count_ = 0;
  std::atomic<std::uint32_t> generation_ = 0;
};

extern constinit rule_cache frame_rules;

/// Effects: looks up what the walk needs. Returns: whether it works in this process: on x86-64, with glibc 2.35 or
/// later, whose search for an address takes no lock.
[[nodiscard]] bool prepare_walk() noexcept;

/// Effects: extends the bounds of the calling thread's stack, which may be empty, down to `frame`: page by page, while
/// memory can be read. A frame of another stack lies beyond a guard page, or too far away: the bounds end before it.
/// Expects: `prepare_walk()` was called. Complexity: a system call for each page. Neither allocates nor locks.
void extend_stack(stack_bounds& stack, const void* frame) noexcept;

/// Frames that a walk looks at beyond those that it keeps: recursion counts once.
inline constexpr std::uint32_t most_folded = 48;

/// The frames that a walk keeps, each once. The first one that comes again is kept too, as evidence of recursion:
///
///     called        alloc  leaf  node  node  node  node  build  main
///     kept          alloc  leaf  node  node              build  main
class kept_frames {
public:
  /// `to` has room for `most`.
  kept_frames(std::uint64_t* to, std::uint32_t most) noexcept : to_(to), most_(most) {}

  /// Effects: adds a frame, unless it is left out. Returns: whether more may be kept. Expects: that was so.
  /// Complexity: O(1), but for frames that are there, and one of some others: O(frames).
  ASHLAR_INLINE bool add(std::uint64_t code) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << ((code ^ code >> 6) % 64);
    if (ASHLAR_UNLIKELY((there_ & bit) != 0) && is_left_out(code)) return ++folded_ != most_folded || fill(code);
    there_ |= bit;
    to_[count_++] = code;
    return count_ != most_;
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

private:
  [[nodiscard]] bool is_left_out(std::uint64_t code) noexcept {
    for (std::uint32_t i = 0; i < count_; ++i)
      if (to_[i] == code) return std::exchange(has_recursion_, true);
    return false;
  }
  /// Effects: a stack that ends in its recursion is full, as others that are cut.
  bool fill(std::uint64_t code) noexcept {
    while (count_ != most_) to_[count_++] = code;
    return false;
  }

  std::uint64_t* to_;
  std::uint64_t there_ = 0;  // bits of the kept frames
  std::uint32_t most_, count_ = 0, folded_ = 0;
  bool has_recursion_ = false;
};

/// Effects: writes the return addresses from a function on, its own first, as `kept_frames`. `frame_pointer` is the
/// function's, which has one: the library is compiled with them. Reads nothing outside of `stack`. Returns: their
/// number, at most `most`; negative if the next frame has no rule, or lies on another stack; 0 if the first one does.
/// Complexity: some ns a frame; microseconds for an address that is new. Neither allocates nor waits, but for a thread
/// that adds a rule.
[[nodiscard]] int walk_stack(std::uint64_t* to, std::uint32_t most, const void* frame_pointer,
                             const stack_bounds& stack) noexcept;

/// A stack with all that its walk depended on.
///
///     higher   | return address 2 |  <- at[2]     codes[2]
///     addresses|      ...         |
///              | return address 1 |  <- at[1]     codes[1]
///              |      ...         |
///              | return address 0 |  <- at[0] = 0, codes[0]: of the function that asks
///              | frame pointer    |
///
/// A walk is a function of its first frame, of the rules at the return addresses, and of the words that it reads: the
/// return addresses, and the saved frame pointers that some rule uses. A known stack is taken only if all of them are
/// compared and equal, so it is the stack that a walk would find now: after a longjmp, an exception, in a signal
/// handler, on a fibre's stack as well. Forgotten rules change the generation.
struct known_stack {
  static constexpr std::uint32_t most_frames = 16;

  static constexpr std::uint32_t most_words = 2 * most_frames + most_folded;

  std::uint64_t stack_pointer = 0;  ///< Of the first frame; 0: no stack is known.
  std::uint32_t generation = 0;     ///< Of the rules.
  std::uint32_t id = 0;             ///< For the owner of the stacks; 0 in a new one.
  std::uint16_t count = 0;          ///< Frames that are kept.
  std::uint16_t ruled = 0;          ///< Return addresses with a rule in `rules`.
  std::uint16_t words = 0;          ///< Words that were read: return addresses, then saved frame pointers.
  std::int32_t extent = 0;          ///< Bytes to the last frame's stack pointer.
  std::array<std::uint64_t, most_frames> frames = {};
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
