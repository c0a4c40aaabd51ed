// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock in shared memory that survives the death of its holder, on Linux and FreeBSD.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/panic.hpp>
#include <ashlar/fwd.hpp>

// Of the other systems macOS, Android, OpenBSD and NetBSD have no robust mutexes, and Windows none in shared memory.
#if ASHLAR_POSIX && ((defined(__linux__) && !defined(__ANDROID__)) || defined(__FreeBSD__))
#include <cerrno>
#include <pthread.h>
#include <unistd.h>
#define ASHLAR_HAS_ROBUST_LOCKS 1
#else
#define ASHLAR_HAS_ROBUST_LOCKS 0
#endif

namespace ashlar::ASHLAR_ABI::os {

#if ASHLAR_HAS_ROBUST_LOCKS

/// A lock for the threads of all processes that share its memory: a robust mutex of POSIX. If a process or thread dies
/// while it holds the lock, the next `lock` returns true, and so on until a holder unlocks.
///
///     if (table->lock.lock()) table->repair();   // a process died between lock() and unlock()
///     ...
///     table->lock.unlock();
///
/// Incomplete on systems without such mutexes. Never destroyed: its memory just goes, when no thread uses it.
/// Lifetime: the memory stays mapped while the lock is held. Thread safety: any thread of any process.
class process_lock {
public:
  process_lock() noexcept {
    ::pthread_mutexattr_t attributes;
    if (::pthread_mutexattr_init(&attributes) != 0 ||
        ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0 ||
        ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) != 0 ||
        ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) != 0 ||
        ::pthread_mutex_init(&mutex_, &attributes) != 0)
      detail::panic("ashlar: the system refused a lock for several processes");
    static_cast<void>(::pthread_mutexattr_destroy(&attributes));
  }
  process_lock(const process_lock&) = delete;
  process_lock& operator=(const process_lock&) = delete;

  /// Effects: waits for the lock. A second `lock` by the holding thread ends the process with a message.
  /// Returns: whether the last holder died while it held the lock, so that the guarded data may be half changed.
  ASHLAR_INLINE bool lock() noexcept {
    const int error = ::pthread_mutex_lock(&mutex_);
    return ASHLAR_UNLIKELY(error != 0) && is_inherited(error);
  }

  ASHLAR_INLINE void unlock() noexcept { static_cast<void>(::pthread_mutex_unlock(&mutex_)); }

  /// Returns: the number of the calling process. Complexity: O(1), a system call for the first call after a fork.
  [[nodiscard]] ASHLAR_INLINE static std::uint32_t process_id() noexcept {
    const std::uint32_t id = process_id_.load(detail::memory_order_relaxed);
    return ASHLAR_LIKELY(id != 0) ? id : find_process_id();
  }

private:
  // If the caller dies before its unlock, the system marks the lock again: it may be declared consistent at once.
  [[nodiscard]] ASHLAR_COLD bool is_inherited(int error) noexcept {
    if (error == EDEADLK) detail::held_locks::end_for_reentry();
    if (error != EOWNERDEAD || ::pthread_mutex_consistent(&mutex_) != 0)
      detail::panic("ashlar: a lock in shared memory was overwritten");
    return true;
  }

  // The handler is registered before the number is stored, so that no child inherits a number without one.
  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static std::uint32_t find_process_id() noexcept {
    const auto id = static_cast<std::uint32_t>(::getpid());
    if (!forgets_at_fork_.load(detail::memory_order_relaxed)) {
      if (::pthread_atfork(nullptr, nullptr, forget_process_id) != 0) return id;
      forgets_at_fork_.store(true, detail::memory_order_relaxed);
    }
    process_id_.store(id, detail::memory_order_relaxed);
    return id;
  }
  ASHLAR_OF_THIS_LIBRARY static void forget_process_id() { process_id_.store(0, detail::memory_order_relaxed); }

  ASHLAR_OF_THIS_LIBRARY static inline constinit detail::atomic<std::uint32_t> process_id_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit detail::atomic<bool> forgets_at_fork_ = false;

  ::pthread_mutex_t mutex_;
};

static_assert(basic_lockable<process_lock>);

#endif

}  // namespace ashlar::ASHLAR_ABI::os

#undef ASHLAR_HAS_ROBUST_LOCKS
