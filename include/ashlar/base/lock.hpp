// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lock policies: which lock guards a shared resource is a type, never a macro.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/held_locks.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/platform.hpp>

namespace ashlar::inline ASHLAR_ABI {

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

/// Holds a lock for a scope.
template <basic_lockable Lock>
class lock_scope {
public:
  ASHLAR_INLINE explicit lock_scope(Lock& lock) : lock_(lock) { lock_.lock(); }
  ASHLAR_INLINE ~lock_scope() { lock_.unlock(); }
  lock_scope(const lock_scope&) = delete;
  lock_scope& operator=(const lock_scope&) = delete;

private:
  Lock& lock_;
};

/// As `lock_scope`, where misuse may be found meanwhile: `report` lets go of the lock before it calls the handler.
template <basic_lockable Lock>
class report_scope {
public:
  ASHLAR_INLINE explicit report_scope(Lock& lock) : lock_(lock) {
    lock_.lock();
    noted_.lock = &lock_;
    noted_.unlock = [](void* held) noexcept { static_cast<Lock*>(held)->unlock(); };
    held_locks::note(noted_);
  }
  ASHLAR_INLINE ~report_scope() {
    held_locks::forget(noted_);
    lock_.unlock();
  }
  report_scope(const report_scope&) = delete;
  report_scope& operator=(const report_scope&) = delete;

private:
  Lock& lock_;
  held_locks::entry noted_;
};

/// Holds a lock for calls that look for misuse from level `checked` on, and never at `fast`.
template <basic_lockable Lock>
using check_scope = std::conditional_t<checking_level >= checking::checked && !std::same_as<Lock, null_lock>,
                                       report_scope<Lock>, lock_scope<Lock>>;

static_assert(basic_lockable<null_lock> && basic_lockable<spin_lock>);

}  // namespace ashlar::inline ASHLAR_ABI
