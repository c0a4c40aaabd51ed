// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The locks that are held while an upstream is called, all of which a fork takes at once or not at all.
#pragma once

#include <atomic>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/system/modules.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

class fork_locks;

/// One of them, as the list knows it.
struct fork_lock {
  /// Returns: whether the lock is held now; false after `patience` attempts.
  bool (*try_lock)(fork_lock& self, unsigned patience) noexcept;
  void (*unlock)(fork_lock& self) noexcept;
  fork_lock* next = nullptr;
  fork_lock* previous = nullptr;
  std::atomic<fork_locks*> entered = nullptr;  ///< the list that it is in: another library's may be the one

  constexpr fork_lock(bool (*try_it)(fork_lock&, unsigned) noexcept, void (*unlock_it)(fork_lock&) noexcept) noexcept
      : try_lock(try_it), unlock(unlock_it) {}
};

/// Adaptors and pools stand on each other in any order, so no fixed order suits their locks: a thread may hold the
/// outer one and wait for the inner one. So the list takes them in order of entry, and lets go of all where one is
/// refused. Thread safety: any thread.
class fork_locks {
public:
  /// Effects: adds a lock, once, as the last. It must leave before its memory goes.
  void enter(fork_lock& joining) noexcept {
    const lock_scope held(lock_);
    if (joining.entered.load(std::memory_order_relaxed) != nullptr) return;
    joining.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &joining;
    last_ = &joining;
    joining.entered.store(this, std::memory_order_relaxed);
  }

  /// Effects: removes a lock from the list that it is in, if any. Expects: nobody uses it.
  static void leave(fork_lock& leaving) noexcept {
    fork_locks* const list = leaving.entered.load(std::memory_order_relaxed);
    if (list == nullptr) return;
    const lock_scope held(list->lock_);
    if (leaving.entered.load(std::memory_order_relaxed) == list) list->take_out(leaving);
  }

  /// Effects: removes the locks that lie in a library, or have functions there; all, where the list lies there itself:
  /// they may enter another. Complexity: O(locks).
  void leave_all_in(const module_place& closing) noexcept {
    const lock_scope held(lock_);
    for (fork_lock* each = first_; each != nullptr;) {
      fork_lock& found = *std::exchange(each, each->next);
      if (closing.contains(this) || closing.contains(&found) ||
          closing.contains(reinterpret_cast<const void*>(found.try_lock)))
        take_out(found);
    }
  }

  /// Returns: whether all locks are held now, so that nobody enters or leaves either; else none is.
  [[nodiscard]] bool try_lock_all(unsigned patience) noexcept {
    lock_.lock();
    for (fork_lock* each = first_; each != nullptr; each = each->next) {
      if (each->try_lock(*each, patience)) continue;
      unlock_from(each->previous);
      return false;
    }
    return true;
  }

  /// Expects: `try_lock_all` returned true.
  void unlock_all() noexcept { unlock_from(last_); }

private:
  void take_out(fork_lock& leaving) noexcept {
    (leaving.previous != nullptr ? leaving.previous->next : first_) = leaving.next;
    (leaving.next != nullptr ? leaving.next->previous : last_) = leaving.previous;
    leaving.next = leaving.previous = nullptr;
    leaving.entered.store(nullptr, std::memory_order_relaxed);
  }

  void unlock_from(fork_lock* last) noexcept {
    for (; last != nullptr; last = last->previous) last->unlock(*last);
    lock_.unlock();
  }

  spin_lock lock_;
  fork_lock* first_ = nullptr;
  fork_lock* last_ = nullptr;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
