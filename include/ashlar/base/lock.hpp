// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies of locks and of threads: types, never macros; and the scopes that hold a lock.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The word of a lock: free, held, or held while other threads sleep for it. A holder is a number above 0 with a clear
/// lowest bit, which is set while threads sleep:
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

/// Whether the owner of a lock's data waits for it. A thread that waits sleeps: one that locks in a loop would have the
/// lock again before the other is awake. So others let the owner in first, for some milliseconds at most. Thread
/// safety: the owner marks, any thread asks; a hint.
class owner_mark {
public:
  /// The scope of waiting.
  class waiting {
  public:
    ASHLAR_INLINE explicit waiting(owner_mark& of) noexcept : of_(of) { of_.waits_.store(true, memory_order_relaxed); }
    ASHLAR_INLINE ~waiting() { of_.waits_.store(false, memory_order_relaxed); }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;

  private:
    owner_mark& of_;
  };

  [[nodiscard]] bool is_set() const noexcept { return waits_.load(memory_order_relaxed); }
  /// Expects: the caller does not hold the lock.
  void let_in() const noexcept {
    for (unsigned turn = 0; is_set() && turn != most_turns; ++turn) yield_or_sleep(turn);
  }
  /// Effects: forgets an owner that waits no longer, as it has no thread in the child of a fork.
  void forget() noexcept { waits_.store(false, memory_order_relaxed); }

private:
  static constexpr unsigned most_turns = most_yields + 20;

  atomic<bool> waits_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail

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

/// Such a policy, or traits that name it as `threads`, beside other choices (`pool_allocator_traits`).
template <class T>
concept pool_traits = lock<T> || lock<typename T::threads>;

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

/// Tag: the caller already holds the lock, for example after `try_lock`.
struct already_held {};

/// Holds a lock for a scope. Lifetime: the lock outlives the scope.
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
/// the process with a message. Expects: the scope ends in the thread that began it, before the scopes that were there
/// already, as a local variable does. Lifetime: the lock outlives the scope.
template <basic_lockable Lock>
class report_scope {
public:
  ASHLAR_INLINE_FOR_SPEED explicit report_scope(Lock& lock) : lock_(lock) {
    if constexpr (is_noted_first) {
      detail::held_locks::expect_not_inside(&lock);
      note(leave_it);
      detail::atomic_signal_fence();
      lock.lock();
      detail::atomic_signal_fence();
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
      detail::atomic_signal_fence();
      lock_.unlock();
      detail::atomic_signal_fence();
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

static_assert(basic_lockable<null_lock> && basic_lockable<spin_lock>);

/// One thread at a time uses the pool and all its objects, without atomics. A pool of the process, which belongs to no
/// scope that hands it over, is bound to the first thread that uses it.
struct one_thread {
  using lock_type = null_lock;
  static constexpr bool is_shared = false;
};

/// Any thread returns objects, lock-free, and counts references; `Lock` guards the acquisition of objects. With
/// `null_lock` one thread at a time acquires and any thread returns objects; neither ever waits.
template <basic_lockable Lock = spin_lock>
struct any_thread {
  using lock_type = Lock;
  static constexpr bool is_shared = true;
};

namespace policy {

template <class T>
concept threads = basic_lockable<typename T::lock_type> && requires {
  { T::is_shared } -> std::convertible_to<bool>;
};

}  // namespace policy

static_assert(policy::threads<one_thread> && policy::threads<any_thread<>>);

}  // namespace ashlar::ASHLAR_ABI
