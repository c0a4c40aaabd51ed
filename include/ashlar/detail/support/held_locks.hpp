// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The locks that a thread holds while misuse may be found, so that a report can let go of them first.
#pragma once

#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/panic.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// What is checked under a lock is reported without it: a handler may use the very pool that noticed. The process ends
/// afterwards, so nobody comes back to what the lock guarded.
/// Expects: where misuse is found, what the lock guards is as sound as between two calls.
/// Thread safety: each thread sees its own.
class held_locks {
public:
  /// One of them. It lies on the stack of who holds the lock.
  struct entry {
    entry* outer = nullptr;
    void* lock = nullptr;
    void (*unlock)(void* lock) noexcept = nullptr;
    bool is_never_recursive = false;  ///< whoever waits for it under it waits for ever
  };

  /// Effects: notes a lock that was taken. Expects: `forget` comes before `taken` goes, the latest first.
  static void note(entry& taken) noexcept {
    taken.outer = latest_;
    latest_ = &taken;
  }

  /// Effects: forgets the lock that was noted last; it is about to be unlocked.
  static void forget(const entry& leaving) noexcept { latest_ = leaving.outer; }

  /// Effects: ends the process where the thread has noted the lock, for which it would wait for ever: it is in a signal
  /// handler, or in what a call calls back.
  static void expect_not_inside(const void* lock) noexcept {
    for (const entry* each = latest_; each != nullptr; each = each->outer)
      if (ASHLAR_UNLIKELY(each->lock == lock)) end_for_reentry();
  }

  [[noreturn]] ASHLAR_COLD static void end_for_reentry() noexcept {
    panic("ashlar: reentry: a signal handler or a callback used what it had come out of");
  }

  /// Effects: as above, where the thread holds any lock: it forks, and so would wait for all of them.
  static void expect_none_to_wait_for() noexcept {
    for (const entry* each = latest_; each != nullptr; each = each->outer)
      if (ASHLAR_UNLIKELY(each->is_never_recursive))
        panic("ashlar: reentry: a signal handler or a callback forked within a call that holds a lock");
  }

  /// Effects: unlocks all, the latest first. Expects: the scopes that hold them do not end any more.
  static void let_go() noexcept {
    for (const entry* each = std::exchange(latest_, nullptr); each != nullptr; each = each->outer)
      each->unlock(each->lock);
  }

private:
  static inline constinit ASHLAR_THREAD_LOCAL entry* latest_ = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
