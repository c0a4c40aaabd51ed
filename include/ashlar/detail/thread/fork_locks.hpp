// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The locks that are held during calls of an upstream: a fork takes all of them or none.
#pragma once

#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/system/modules.hpp>

namespace ashlar::ASHLAR_ABI::detail {

class fork_locks;

/// The entry of one lock in the list.
struct fork_lock {
  /// Returns: whether the lock was taken; false after `patience` failed attempts.
  bool (*try_lock)(fork_lock& self, unsigned patience) noexcept;
  void (*unlock)(fork_lock& self) noexcept;
  fork_lock* next = nullptr;
  fork_lock* previous = nullptr;
  atomic<fork_locks*> entered = nullptr;  ///< its list, perhaps of another library

  constexpr fork_lock(bool (*try_it)(fork_lock&, unsigned) noexcept, void (*unlock_it)(fork_lock&) noexcept) noexcept
      : try_lock(try_it), unlock(unlock_it) {}
};

/// Adaptors and pools may be composed in any order, so no fixed lock order exists: a thread may hold the outer lock and
/// wait for the inner one. The list takes the locks in the order of entry and releases all if one is refused.
/// Thread safety: any thread.
class fork_locks {
public:
  /// Effects: adds a lock, once, at the end. It must leave before its memory is released.
  void enter(fork_lock& joining) noexcept {
    const lock_scope held(lock_);
    if (joining.entered.load(memory_order_relaxed) != nullptr) return;
    locks_.push_back(&joining);
    joining.entered.store(this, memory_order_relaxed);
  }

  /// Effects: removes a lock from its list, if any. Expects: no thread uses the lock.
  static void leave(fork_lock& leaving) noexcept {
    fork_locks* const list = leaving.entered.load(memory_order_relaxed);
    if (list == nullptr) return;
    const lock_scope held(list->lock_);
    if (leaving.entered.load(memory_order_relaxed) == list) list->take_out(leaving);
  }

  /// Effects: removes the locks with data or functions in a closed library. If the list itself is in the library, all
  /// locks leave: they may enter another list. Complexity: O(locks).
  void leave_all_in(const module_place& closing) noexcept {
    const lock_scope held(lock_);
    for (fork_lock* each = locks_.front(); each != nullptr;) {
      fork_lock& found = *std::exchange(each, each->next);
      if (closing.contains(this) || closing.contains(&found) ||
          closing.contains(reinterpret_cast<const void*>(found.try_lock)))
        take_out(found);
    }
  }

  /// Returns: whether all locks were taken; then no lock enters or leaves until `unlock_all`. If false, none is held.
  [[nodiscard]] ASHLAR_INLINE bool try_lock_all(unsigned patience) noexcept {
    lock_.lock();
    for (fork_lock* each = locks_.front(); each != nullptr; each = each->next) {
      if (each->try_lock(*each, patience)) continue;
      unlock_from(each->previous);
      return false;
    }
    return true;
  }

  /// Expects: `try_lock_all` returned true.
  void unlock_all() noexcept { unlock_from(locks_.back()); }

private:
  void take_out(fork_lock& leaving) noexcept {
    locks_.erase(&leaving);
    leaving.entered.store(nullptr, memory_order_relaxed);
  }

  void unlock_from(fork_lock* last) noexcept {
    for (; last != nullptr; last = last->previous) last->unlock(*last);
    lock_.unlock();
  }

  spin_lock lock_;
  list<fork_lock> locks_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
