// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must come to rest before the process forks, so that the child finds no lock held by a thread it does not have.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>

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
/// for another participant.
struct fork_participant {
  void (*before)(void* self, fork_step step) noexcept = nullptr;
  void (*in_parent)(void* self) noexcept = nullptr;
  void (*in_child)(void* self) noexcept = nullptr;
  void* self = nullptr;
  fork_participant* next = nullptr;
  std::atomic<bool> is_entered = false;
};

/// The list of them.
struct fork_registry {
  spin_lock lock;
  fork_participant* first = nullptr;
  bool is_installed = false;
};

/// The participants of the process, called in the order in which they entered, before the fork once for each step.
/// Thread safety: any thread.
class fork_participants {
public:
  /// Effects: adds a participant, once. It must leave before its memory goes.
  static void enter(fork_participant& joining) noexcept {
    if (joining.is_entered.load(std::memory_order_relaxed)) return;  // nothing is read that its entering wrote
    const lock_scope held(all_.lock);
    if (joining.is_entered.load(std::memory_order_relaxed)) return;
    if (!all_.is_installed) all_.is_installed = install();
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

private:
  // Without an operating system no process forks.
  [[nodiscard]] static bool install() noexcept {
#if ASHLAR_HOSTED
    return ::pthread_atfork(before, in_parent, in_child) == 0;
#else
    return true;
#endif
  }

  static void before() {
    all_.lock.lock();  // until the fork is over nobody joins or leaves
    for (const fork_step step :
         {fork_step::outer_locks, fork_step::inner_locks, fork_step::shared_locks, fork_step::last_locks})
      for (fork_participant* each = all_.first; each != nullptr; each = each->next) each->before(each->self, step);
  }

  static void in_parent() {
    for (fork_participant* each = all_.first; each != nullptr; each = each->next) each->in_parent(each->self);
    all_.lock.unlock();
  }

  static void in_child() {
    for (fork_participant* each = all_.first; each != nullptr; each = each->next) each->in_child(each->self);
    all_.lock.unlock();
  }

  static inline constinit fork_registry all_;
};

}  // namespace ashlar::inline ASHLAR_ABI::os
