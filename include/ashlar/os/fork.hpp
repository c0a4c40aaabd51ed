// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must come to rest before the process forks, so that the child finds no lock held by a thread it does not have.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>
#include <ashlar/base/held_locks.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/os/fork_locks.hpp>

#if ASHLAR_HOSTED
#include <pthread.h>
#endif

namespace ashlar::inline ASHLAR_ABI::os {

/// Which locks are taken before a fork, in this order: those of one step by all participants before any of the next. So
/// it does not matter who entered first, and a thread that holds a lock may wait for one of a later step, never of an
/// earlier one or of its own.
enum class fork_step : unsigned char {
  outer_locks,  ///< held while inner locks are taken, of others too
  inner_locks,
  shared_locks,  ///< taken under inner locks, of what their owners share
  last_locks,    ///< taken under any of these
};

/// One thing that comes to rest. Its functions run in the thread that forks, and must neither enter nor leave, nor wait
/// for another participant. `before` and `in_parent` may be called several times for one fork.
struct fork_participant {
  void (*before)(void* self, fork_step step) noexcept = nullptr;
  void (*in_parent)(void* self) noexcept = nullptr;
  void (*in_child)(void* self) noexcept = nullptr;
  void* self = nullptr;
  fork_participant* next = nullptr;
  std::atomic<bool> is_entered = false;
};

#if ASHLAR_HOSTED
using thread_name = ::pthread_t;
[[nodiscard]] inline thread_name this_thread() noexcept { return ::pthread_self(); }
#else
using thread_name = int;
[[nodiscard]] inline thread_name this_thread() noexcept { return 0; }
#endif

/// Which thread forks. Each library that has handlers is called for the same fork: the first to begin locks, the last
/// to end unlocks. Thread safety: `begin` and `end` by the thread that holds the lock of the registry.
class fork_turn {
public:
  /// Returns: whether handlers have begun a fork of the calling thread.
  [[nodiscard]] bool is_mine() const noexcept {
    return begun_.load(std::memory_order_acquire) != 0 && forking_.load(std::memory_order_relaxed) == this_thread();
  }

  /// Effects: one more has begun. The release pairs with the acquire in is_mine(): a number of another thread's fork
  /// comes with its name.
  void begin() noexcept {
    forking_.store(this_thread(), std::memory_order_relaxed);
    begun_.store(begun_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// Effects: one has ended. Returns: whether it was the last.
  [[nodiscard]] bool end() noexcept {
    const unsigned rest = begun_.load(std::memory_order_relaxed) - 1;
    begun_.store(rest, std::memory_order_relaxed);
    return rest == 0;
  }

private:
  std::atomic<thread_name> forking_ = {};
  std::atomic<unsigned> begun_ = 0;
};

/// The list of them.
struct fork_registry {
  spin_lock lock;
  fork_participant* first = nullptr;
  fork_locks locks;
  fork_turn turn;
};

/// The participants of the process, called in the order in which they entered, before the fork once for each step; and
/// the locks that may be held while any participant is called, taken after all steps. Where such a lock is refused, its
/// holder may wait for a participant: then everything is given up for a moment.
///
///   fork -> steps: wait for locks in their order -> fork_locks: try -> the process forks -> all are unlocked, twice
///             ^                                        | refused
///             +---------- unlock all, yield -----------+
///
/// Where libraries share the list, each that adds to it has handlers of its own, since those of a library that is
/// closed go with it. A thread that forks while it holds a lock itself, in what an upstream or a callback does, waits
/// for ever; from level `checked` on that ends the process with a message. Thread safety: any thread.
class fork_participants {
public:
  /// Effects: adds a participant, once. It must leave before its memory goes.
  static void enter(fork_participant& joining) noexcept {
    if (joining.is_entered.load(std::memory_order_relaxed)) return;  // nothing is read that its entering wrote
    expect_handlers();
    const lock_scope held(all_.lock);
    if (joining.is_entered.load(std::memory_order_relaxed)) return;
    fork_participant** end = &all_.first;
    while (*end != nullptr) end = &(*end)->next;
    *end = &joining;
    joining.is_entered.store(true, std::memory_order_relaxed);
  }

  /// Effects: removes a participant, if it is one. Complexity: O(participants).
  static void leave(fork_participant& leaving) noexcept {
    const lock_scope held(all_.lock);
    if (!leaving.is_entered.load(std::memory_order_relaxed)) return;
    fork_participant** at = &all_.first;
    while (*at != &leaving) at = &(*at)->next;
    *at = leaving.next;
    leaving.next = nullptr;  // it may enter again, as the last
    leaving.is_entered.store(false, std::memory_order_relaxed);
  }

  /// @{ As above, for a lock. Whoever enters one may hold others.
  ASHLAR_COLD static void enter(fork_lock& joining) noexcept {
    expect_handlers();
    all_.locks.enter(joining);
  }
  ASHLAR_COLD static void leave(fork_lock& leaving) noexcept { all_.locks.leave(leaving); }
  /// @}

private:
  // Under a lock that no fork waits for, since whoever gets here may hold one that a fork waits for.
  ASHLAR_OF_THIS_LIBRARY static void expect_handlers() noexcept {
    if (is_installed_.load(std::memory_order_relaxed)) return;
    const lock_scope held(installing_);
    if (!is_installed_.load(std::memory_order_relaxed)) is_installed_.store(install(), std::memory_order_relaxed);
  }

  // Without an operating system no process forks.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool install() noexcept {
#if ASHLAR_HOSTED
    return ::pthread_atfork(before, in_parent, in_child) == 0;
#else
    return true;
#endif
  }

  ASHLAR_OF_THIS_LIBRARY static void before() {
    if (!all_.turn.is_mine()) hold();
    all_.turn.begin();
  }

  static void hold() noexcept {
    if constexpr (checking_level >= checking::checked) held_locks::expect_none_to_wait_for();
    // A holder that waits for a participant waits in vain; among many holders that do not, a fork must insist.
    constexpr unsigned attempts = 64;
    for (unsigned patience = attempts; !try_hold(patience); patience += attempts) yield_thread();
  }

  // Returns: whether everything is at rest, and nobody joins or leaves until the fork is over; else nothing is held.
  [[nodiscard]] static bool try_hold(unsigned patience) noexcept {
    all_.lock.lock();
    for (const fork_step step :
         {fork_step::outer_locks, fork_step::inner_locks, fork_step::shared_locks, fork_step::last_locks})
      for (fork_participant* each = all_.first; each != nullptr; each = each->next) each->before(each->self, step);
    if (all_.locks.try_lock_all(patience)) return true;
    release();
    return false;
  }

  static void release() noexcept {
    for (fork_participant* each = all_.first; each != nullptr; each = each->next) each->in_parent(each->self);
    all_.lock.unlock();
  }

  ASHLAR_OF_THIS_LIBRARY static void in_parent() {
    if (!all_.turn.end()) return;
    all_.locks.unlock_all();
    release();
  }

  ASHLAR_OF_THIS_LIBRARY static void in_child() {
    if (!all_.turn.end()) return;
    all_.locks.unlock_all();  // first: what participants give back may go through them
    for (fork_participant* each = all_.first; each != nullptr; each = each->next) each->in_child(each->self);
    all_.lock.unlock();
  }

  static inline constinit fork_registry all_;
  ASHLAR_OF_THIS_LIBRARY static inline constinit spin_lock installing_;
  ASHLAR_OF_THIS_LIBRARY static inline constinit std::atomic<bool> is_installed_ = false;
};

}  // namespace ashlar::inline ASHLAR_ABI::os
