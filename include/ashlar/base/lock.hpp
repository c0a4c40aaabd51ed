// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lock policies: which lock guards a shared resource is a type, never a macro.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// What the standard calls BasicLockable; `std::mutex` models it.
template <class Lock>
concept basic_lockable = requires(Lock& lock) {
  lock.lock();
  lock.unlock();
};

/// No lock: the caller keeps to one thread.
struct null_lock {
  void lock() noexcept {}
  void unlock() noexcept {}
  [[nodiscard]] bool try_lock() noexcept { return true; }
};

/// Not a lock but what to use instead of one: every thread keeps some cells at hand, and the pool they share is locked
/// only for many cells at a time.
struct thread_cached {};

/// What keeps the threads of a pool apart: a lock, or `thread_cached`.
template <class T>
concept lock_policy = basic_lockable<T> || std::same_as<T, thread_cached>;

/// Spins on a read, then yields, so that a preempted holder can run on a machine with few cores.
class spin_lock {
public:
  ASHLAR_INLINE void lock() noexcept {
    if (ASHLAR_UNLIKELY(!try_lock())) wait();
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept {
    return !held_.exchange(true, std::memory_order_acquire);  // pairs with the release in unlock()
  }

  ASHLAR_INLINE void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
  static constexpr unsigned spins_before_yield = 64;

  ASHLAR_COLD void wait() noexcept {
    do {
      for (unsigned spin = 0; held_.load(std::memory_order_relaxed); ++spin)
        if (spin >= spins_before_yield) yield_thread();
    } while (!try_lock());
  }

  std::atomic<bool> held_ = false;
};

/// Whether a thread that holds such a lock waits for itself where it wants it again. Specialise it for a lock of
/// somebody else's: then `report_scope` says so.
template <class Lock>
inline constexpr bool never_recursive = false;
template <>
inline constexpr bool never_recursive<spin_lock> = true;

/// Says that the lock is held already, as by `try_lock`.
struct already_held {};

/// Holds a lock for a scope.
template <basic_lockable Lock>
class lock_scope {
public:
  ASHLAR_INLINE explicit lock_scope(Lock& lock) : lock_(lock) { lock_.lock(); }
  ASHLAR_INLINE lock_scope(Lock& lock, already_held) noexcept : lock_(lock) {}
  ASHLAR_INLINE ~lock_scope() { lock_.unlock(); }
  lock_scope(const lock_scope&) = delete;
  lock_scope& operator=(const lock_scope&) = delete;

private:
  Lock& lock_;
};

/// As `lock_scope`, where misuse may be found meanwhile: `report` lets go of the lock before it calls the handler.
/// From level `checked` on a thread that holds a `spin_lock`, or what else is `never_recursive`, and wants it again
/// ends the process with a message.
template <basic_lockable Lock>
class report_scope {
public:
  ASHLAR_INLINE explicit report_scope(Lock& lock) : lock_(lock) {
    if constexpr (is_noted_first) {
      detail::held_locks::expect_not_inside(&lock);
      note(leave_it);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      lock.lock();
      std::atomic_signal_fence(std::memory_order_seq_cst);
      noted_.unlock = unlock_it;
    } else {
      lock.lock();
      note(unlock_it);
    }
  }
  ASHLAR_INLINE report_scope(Lock& lock, already_held) noexcept : lock_(lock) { note(unlock_it); }
  ASHLAR_INLINE ~report_scope() {
    if constexpr (is_noted_first) {
      noted_.unlock = leave_it;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      lock_.unlock();
      std::atomic_signal_fence(std::memory_order_seq_cst);
      detail::held_locks::forget(noted_);
    } else {
      detail::held_locks::forget(noted_);
      lock_.unlock();
    }
  }
  report_scope(const report_scope&) = delete;
  report_scope& operator=(const report_scope&) = delete;

private:
  // A signal may come between any two instructions: the lock is noted as long as it is held, and a bit longer.
  static constexpr bool is_noted_first = checking_level >= checking::checked && never_recursive<Lock>;

  static void leave_it(void*) noexcept {}
  static void unlock_it(void* held) noexcept { static_cast<Lock*>(held)->unlock(); }

  ASHLAR_INLINE void note(void (*unlock)(void* lock) noexcept) noexcept {
    noted_.lock = &lock_;
    noted_.unlock = unlock;
    noted_.is_never_recursive = never_recursive<Lock>;
    detail::held_locks::note(noted_);
  }

  Lock& lock_;
  detail::held_locks::entry noted_;
};

/// Holds a lock for calls that look for misuse from level `checked` on, and never at `fast`.
template <basic_lockable Lock>
using check_scope = std::conditional_t<checking_level >= checking::checked && !std::same_as<Lock, null_lock>,
                                       report_scope<Lock>, lock_scope<Lock>>;

static_assert(basic_lockable<null_lock> && basic_lockable<spin_lock>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
