// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fast walk of the calling thread's stack: rules of frames come from a cache, filled from the unwind tables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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

/// Effects: writes the return addresses from a function on, its own first. `frame_pointer` is the function's,
/// which has one: the library is compiled with them. Reads nothing outside of `stack`. Returns: their number, at most
/// `most`; negative if the next frame has no rule, or lies on another stack; 0 if the first one does. Complexity: some
/// ns a frame; microseconds for an address that is new. Neither allocates nor waits, but for a thread that adds a rule.
[[nodiscard]] int walk_stack(std::uint64_t* to, std::uint32_t most, const void* frame_pointer,
                             const stack_bounds& stack) noexcept;

}  // namespace ashlar::recorder
