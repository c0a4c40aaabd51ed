// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must come to rest before the process forks, so that the child finds no lock held by a thread it does not have.
#pragma once

#include <atomic>
#include <cstdlib>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/modules.hpp>
#include <ashlar/detail/thread/fork_locks.hpp>

#if ASHLAR_HOSTED
#include <pthread.h>
#endif

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Which locks are taken before a fork, in this order: those of one step by all participants before any of the next. So
/// it does not matter who entered first, and a thread that holds a lock may wait for one of a later step, never of an
/// earlier one or of its own.
enum class fork_step : unsigned char {
  outer_locks,  ///< held while inner locks are taken, of others too
  inner_locks,
  shared_locks,  ///< taken under inner locks, of what their owners share
  last_locks,    ///< taken under any of these
};

struct fork_registry;

/// One thing that comes to rest. Its functions run in the thread that forks, and must neither enter nor leave, nor wait
/// for another participant. `before` and `in_parent` may be called several times for one fork.
struct fork_participant {
  void (*before)(void* self, fork_step step) noexcept = nullptr;
  void (*in_parent)(void* self) noexcept = nullptr;
  void (*in_child)(void* self) noexcept = nullptr;
  void* self = nullptr;
  fork_participant* next = nullptr;
  std::atomic<fork_registry*> entered = nullptr;  ///< the list that it is in: another library's may be the one
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
/// closed go with it; what lies in that library leaves the list then. A thread that forks while it holds a lock itself,
/// in what an upstream or a callback does, waits for ever; from level `checked` on that ends the process with a
/// message. Thread safety: any thread.
class fork_participants {
public:
  /// Effects: adds a participant, once. It must leave before its memory goes.
  static void enter(fork_participant& joining) noexcept {
    if (joining.entered.load(std::memory_order_relaxed) != nullptr) return;  // nothing is read that its entering wrote
    if (!expects_forks()) return;
    const lock_scope held(all_.lock);
    if (joining.entered.load(std::memory_order_relaxed) != nullptr) return;
    fork_participant** end = &all_.first;
    while (*end != nullptr) end = &(*end)->next;
    *end = &joining;
    joining.entered.store(&all_, std::memory_order_relaxed);
  }

  /// Effects: removes a participant from the list that it is in, if any. Complexity: O(participants).
  static void leave(fork_participant& leaving) noexcept {
    fork_registry* const list = leaving.entered.load(std::memory_order_relaxed);
    if (list == nullptr) return;
    const lock_scope held(list->lock);
    if (leaving.entered.load(std::memory_order_relaxed) != list) return;
    fork_participant** at = &list->first;
    while (*at != &leaving) at = &(*at)->next;
    take_out(at);
  }

  /// @{ As above, for a lock. Whoever enters one may hold others.
  ASHLAR_COLD static void enter(fork_lock& joining) noexcept {
    if (expects_forks()) all_.locks.enter(joining);
  }
  ASHLAR_COLD static void leave(fork_lock& leaving) noexcept { fork_locks::leave(leaving); }
  /// @}

private:
  // Returns: whether there are handlers, so that something may enter; not in a library that is being closed. Takes a
  // lock that no fork waits for, since the caller may hold one that a fork waits for.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool expects_forks() noexcept {
    if (is_installed_.load(std::memory_order_relaxed)) return !is_closed_.load(std::memory_order_relaxed);
    const lock_scope held(installing_);
    if (!is_installed_.load(std::memory_order_relaxed)) is_installed_.store(install(), std::memory_order_relaxed);
    return true;
  }

  // Without an operating system no process forks.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool install() noexcept {
#if ASHLAR_HOSTED
    if constexpr (ASHLAR_IS_LIBRARY_CODE) static_cast<void>(std::atexit(close_library));
    return ::pthread_atfork(before, in_parent, in_child) == 0;
#else
    return true;
#endif
  }

  // What lies in a library that is closed leaves the list: inline variables of pools for the process are never
  // destroyed.
  ASHLAR_OF_THIS_LIBRARY static void close_library() {
    is_closed_.store(true, std::memory_order_relaxed);
    const module_place closing = module_around(&is_closed_);
    all_.locks.leave_all_in(closing);
    const lock_scope held(all_.lock);
    for (fork_participant** at = &all_.first; *at != nullptr;)
      if (goes_with(closing, **at)) take_out(at);
      else at = &(*at)->next;
  }

  // All go with the list itself: they may enter another.
  [[nodiscard]] static bool goes_with(const module_place& closing, const fork_participant& each) noexcept {
    return closing.contains(&all_) || closing.contains(&each) ||
           closing.contains(reinterpret_cast<const void*>(each.before));
  }

  static void take_out(fork_participant** at) noexcept {
    fork_participant& leaving = **at;
    *at = std::exchange(leaving.next, nullptr);  // it may enter again, as the last
    leaving.entered.store(nullptr, std::memory_order_relaxed);
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
  ASHLAR_OF_THIS_LIBRARY static inline constinit std::atomic<bool> is_closed_ = false;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
