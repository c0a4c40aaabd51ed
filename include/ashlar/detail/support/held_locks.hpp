// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The locks that a thread holds during checks: a report of misuse releases them first.
#pragma once

#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/panic.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Checks run under locks, but reports run without them: a handler may use the pool that detected the misuse. The
/// process ends afterwards, so no code resumes inside the critical section.
/// Expects: at the detection of misuse, the guarded data is consistent, as between two calls.
/// Thread safety: each thread sees its own list.
class held_locks {
public:
  /// One held lock. The entry lies on the stack of the holding thread.
  struct entry {
    entry* outer = nullptr;
    void* lock = nullptr;
    void (*unlock)(void* lock) noexcept = nullptr;
    bool is_never_recursive = false;  ///< a second lock by the holder deadlocks
    bool is_released = false;         ///< the holder has released it for a while
  };

  /// Effects: records a lock. Expects: `forget` is called before `taken` is destroyed, the latest entry first.
  static void note(entry& taken) noexcept {
    taken.outer = latest_;
    latest_ = &taken;
  }

  /// Effects: removes the latest lock, which is about to be unlocked.
  static void forget(const entry& leaving) noexcept { latest_ = leaving.outer; }

  /// Returns: the entry of a lock that the thread holds, or has released for a while; or null.
  [[nodiscard]] static entry* find(const void* lock, bool is_released = false) noexcept {
    entry* each = latest_;
    while (each != nullptr && (each->lock != lock || each->is_released != is_released)) each = each->outer;
    return each;
  }

  /// Effects: ends the process if the thread already holds the lock: inside a signal handler or a callback it would
  /// wait for itself.
  static void expect_not_inside(const void* lock) noexcept {
    if (ASHLAR_UNLIKELY(find(lock) != nullptr)) end_for_reentry();
  }

  [[noreturn]] ASHLAR_COLD static void end_for_reentry() noexcept {
    panic("ashlar: reentry: a signal handler or a callback used the resource that it interrupted");
  }

  /// Effects: ends the process if the thread holds any such lock: a fork would wait for all of them.
  static void expect_none_to_wait_for() noexcept {
    for (const entry* each = latest_; each != nullptr; each = each->outer)
      if (ASHLAR_UNLIKELY(each->is_never_recursive))
        panic("ashlar: reentry: a signal handler or a callback forked within a call that holds a lock");
  }

  /// Effects: unlocks all, the latest first. Expects: the scopes that hold them never end.
  static void release_all() noexcept {
    for (const entry* each = std::exchange(latest_, nullptr); each != nullptr; each = each->outer)
      if (!each->is_released) each->unlock(each->lock);
  }

private:
  static inline constinit ASHLAR_THREAD_LOCAL entry* latest_ = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI::detail
