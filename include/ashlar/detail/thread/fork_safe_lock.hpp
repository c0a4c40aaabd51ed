// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock that a fork never finds held by a thread that the child lacks.
#pragma once

#include <concepts>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar::ASHLAR_ABI {
namespace detail {

/// Pools change the registry under their own locks, so a fork takes its lock last.
class registry_at_fork {
public:
  /// Effects: from now on a fork waits until no thread reads or changes the registry. Nothing at level `fast`.
  /// Expects: no participant's lock is held. Owners of slabs call it before they make their first slab, and locks under
  /// which slabs are made before they are first taken.
  static ASHLAR_INLINE void enter() noexcept {
    if constexpr (checking_level >= checking::checked) fork_participants::enter(participant_);
  }

private:
  static inline constinit fork_participant participant_ = at_last_step(process_slabs);
};

/// A `Lock` that the forking thread holds across the fork. It enters the list of `fork_locks` before it is first taken
/// and leaves it in the destructor. The cost is one relaxed load and one predicted branch for each `lock`.
///
/// The fork cannot back out of a `Lock` without `try_lock`: it waits for such locks in the order in which they were
/// first taken. It deadlocks if threads nest them in another order, or take one for the first time while they hold
/// another; in a forked child each take is the first again. Expects: no thread forks while it holds such a lock. Thread
/// safety: as `Lock`.
template <basic_lockable Lock>
class fork_safe_lock : private fork_lock {
public:
  constexpr fork_safe_lock() noexcept = default;
  fork_safe_lock(const fork_safe_lock&) = delete;  // the list points here
  fork_safe_lock& operator=(const fork_safe_lock&) = delete;
  ~fork_safe_lock() {
    if (entered.load(memory_order_relaxed) != nullptr) fork_participants::leave(*this);
  }

  ASHLAR_INLINE void lock() noexcept(noexcept(lock_.lock())) {
    expect_fork();
    lock_.lock();
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept(noexcept(lock_.try_lock()))
    requires requires(Lock& lock) { lock.try_lock(); }
  {
    expect_fork();
    return lock_.try_lock();
  }

  ASHLAR_INLINE void unlock() noexcept(noexcept(lock_.unlock())) { lock_.unlock(); }

private:
  static constexpr unsigned attempts_before_yield = 64;

  [[nodiscard]] static Lock& lock_of(fork_lock& self) noexcept { return static_cast<fork_safe_lock&>(self).lock_; }

  [[nodiscard]] static bool try_lock_for_fork(fork_lock& self, unsigned patience) noexcept {
    Lock& wanted = lock_of(self);
    if constexpr (requires { wanted.try_lock(); }) {
      for (; !wanted.try_lock(); --patience) {
        if (patience == 0) return false;
        if (patience % attempts_before_yield == 0) yield_thread();  // lets a preempted holder run
      }
    } else {
      wanted.lock();
    }
    return true;
  }
  static void unlock_after_fork(fork_lock& self) noexcept { lock_of(self).unlock(); }

  ASHLAR_INLINE void expect_fork() noexcept {
    if (ASHLAR_LIKELY(entered.load(memory_order_relaxed) != nullptr)) return;
    registry_at_fork::enter();
    fork_participants::enter(*this, functions_);
  }

  static constexpr fork_lock functions_{try_lock_for_fork, unlock_after_fork};

  Lock lock_ = {};
};

/// The lock of a type with the lock policy `Lock`.
template <basic_lockable Lock>
using fork_safe = std::conditional_t<std::same_as<Lock, null_lock>, null_lock, fork_safe_lock<Lock>>;

static_assert(basic_lockable<fork_safe_lock<spin_lock>>);

}  // namespace detail

template <basic_lockable Lock>
inline constexpr bool never_recursive<detail::fork_safe_lock<Lock>> = never_recursive<Lock>;

}  // namespace ashlar::ASHLAR_ABI
