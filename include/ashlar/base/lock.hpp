// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lock policies: a type, never a macro, selects the lock of a shared resource.
#pragma once

#include <concepts>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/lock_word.hpp>

namespace ashlar::ASHLAR_ABI {

/// BasicLockable of the standard; `std::mutex` models it.
template <class Lock>
concept basic_lockable = requires(Lock& lock) {
  lock.lock();
  lock.unlock();
};

/// No lock: one thread uses the resource.
struct null_lock {
  void lock() noexcept {}
  void unlock() noexcept {}
  [[nodiscard]] bool try_lock() noexcept { return true; }
};

/// A policy instead of a lock: every thread has a cache of cells. Threads lock the shared pool only to move many cells
/// at a time.
struct thread_cached {};

struct one_thread;

namespace policy {

/// Synchronisation of the threads of a pool: a lock, `thread_cached`, or `one_thread`.
template <class T>
concept lock = basic_lockable<T> || std::same_as<T, thread_cached> || std::same_as<T, one_thread>;

}  // namespace policy

/// A lock that spins for a moment, then yields, so that a preempted holder can run on a machine with few cores, then
/// sleeps until it is free: so it can run below a waiting thread of real-time priority, and many waiting threads cost
/// nothing.
class spin_lock {
public:
  ASHLAR_INLINE void lock() noexcept {
    if (ASHLAR_UNLIKELY(!try_lock())) word_.wait(held);
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept { return word_.try_lock(held); }

  ASHLAR_INLINE void unlock() noexcept { word_.unlock(held); }

private:
  static constexpr unsigned held = 2;

  detail::lock_word word_;
};

/// Whether a second `lock` by the holding thread deadlocks. Specialise it for a lock of another library, so that
/// `report_scope` reports the deadlock.
template <class Lock>
inline constexpr bool never_recursive = false;
template <>
inline constexpr bool never_recursive<spin_lock> = true;

namespace detail {

/// Tag: the caller already holds the lock, for example after `try_lock`.
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

/// As `lock_scope`, for code that may detect misuse: `report` releases the lock before it calls the handler.
/// From level `checked` on, a second lock of a `spin_lock` or another `never_recursive` lock by the holding thread ends
/// the process with a message.
template <basic_lockable Lock>
class report_scope {
public:
  ASHLAR_INLINE_FOR_SPEED explicit report_scope(Lock& lock) : lock_(lock) {
    if constexpr (is_noted_first) {
      detail::held_locks::expect_not_inside(&lock);
      note(leave_it);
      atomic_signal_fence();
      lock.lock();
      atomic_signal_fence();
      noted_.unlock = unlock_it;
    } else {
      lock.lock();
      note(unlock_it);
    }
  }
  ASHLAR_INLINE_FOR_SPEED report_scope(Lock& lock, already_held) noexcept : lock_(lock) { note(unlock_it); }
  ASHLAR_INLINE_FOR_SPEED ~report_scope() {
    if constexpr (is_noted_first) {
      noted_.unlock = leave_it;
      atomic_signal_fence();
      lock_.unlock();
      atomic_signal_fence();
      detail::held_locks::forget(noted_);
    } else {
      detail::held_locks::forget(noted_);
      lock_.unlock();
    }
  }
  report_scope(const report_scope&) = delete;
  report_scope& operator=(const report_scope&) = delete;

private:
  // A signal may arrive between any two instructions: the lock is noted before it is taken and until it is released.
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

/// The scope for calls that detect misuse from level `checked` on, but not at `fast`.
template <basic_lockable Lock>
using check_scope = std::conditional_t<checking_level >= checking::checked && !std::same_as<Lock, null_lock>,
                                       report_scope<Lock>, lock_scope<Lock>>;

}  // namespace detail

static_assert(basic_lockable<null_lock> && basic_lockable<spin_lock>);

}  // namespace ashlar::ASHLAR_ABI
