// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The word of a lock: free, held, or held while other threads sleep for it.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/platform.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A holder is a number above 0 with a clear lowest bit, which is set while threads sleep:
///
///     0 --lock--> holder --unlock--> 0         a store each: no system call, and no second locked instruction
///                   |  a thread waits: it spins, yields, then sets the bit and sleeps
///                 holder | 1 --unlock--> 0     wakes one, which sets the bit again, for others may sleep
///
/// A bit that is set between the two instructions of `unlock` may go unseen: then the sleep lasts its few milliseconds.
/// Nothing is read after an unlock: the lock may be gone then. Thread safety: any thread.
class lock_word {
public:
  /// Returns: whether the word was free, and `holder` has it now.
  [[nodiscard]] ASHLAR_INLINE bool try_lock(std::uintptr_t holder) noexcept {
    std::uintptr_t none = 0;
    return word_.compare_exchange_strong(none, holder, memory_order_acquire,  // pairs with the releases in unlock()
                                         memory_order_relaxed);
  }

  /// Effects: waits until `holder` has the word.
  ASHLAR_COLD void wait(std::uintptr_t holder) noexcept {
    for (unsigned turn = 0; turn != most_turns; ++turn) {
      if (word_.load(memory_order_relaxed) == 0 && try_lock(holder)) return;
      if (turn >= turns_before_yield) yield_thread();  // a preempted holder runs on a machine with few cores
    }
    for (unsigned turn = 0; !try_lock(holder | 1); ++turn) sleep(turn);
  }

  /// Expects: `holder` has the word.
  ASHLAR_INLINE void unlock(std::uintptr_t holder) noexcept {
    if (ASHLAR_UNLIKELY(word_.load(memory_order_relaxed) != holder)) return unlock_and_wake();
    word_.store(0, memory_order_release);
  }

  /// Returns: the holder, or 0.
  [[nodiscard]] std::uintptr_t holder() const noexcept { return word_.load(memory_order_relaxed) & ~std::uintptr_t{1}; }

private:
  static constexpr unsigned turns_before_yield = 64, most_turns = turns_before_yield + 8;

  ASHLAR_COLD void unlock_and_wake() noexcept {
    word_.store(0, memory_order_release);
    wake_one(&word_);
  }

  void sleep(unsigned turn) noexcept {
    std::uintptr_t seen = word_.load(memory_order_relaxed);
    if (seen == 0) return;
    if ((seen & 1) != 0 || word_.compare_exchange_strong(seen, seen | 1, memory_order_relaxed, memory_order_relaxed))
      sleep_on(&word_, seen | 1, turn);
  }

  atomic<std::uintptr_t> word_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
