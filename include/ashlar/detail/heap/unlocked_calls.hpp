// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of an upstream beneath a table that a lock guards: they are made without the lock.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/platform.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// While a thread is inside a call, as of `madvise` or `munmap`, others use the table:
///
///     [ lock: what the call is for leaves the table ] call [ lock: what came of it enters the table ]
///
/// A request that is refused waits for the calls under way, which may give memory back. A fork waits for these requests
/// too; up to its end calls are made under the lock. Thread safety: under the lock, if there is one.
class unlocked_calls {
public:
  /// Effects: from now on calls are made without the lock, which callers hold.
  constexpr void share(spin_lock& lock) noexcept { lock_ = &lock; }

  /// A scope that keeps the lock: calls are made under it, and none is waited for.
  class locked_scope {
  public:
    explicit locked_scope(unlocked_calls& calls) noexcept : calls_(calls) { ++calls_.locked_; }
    ~locked_scope() { --calls_.locked_; }
    locked_scope(const locked_scope&) = delete;
    locked_scope& operator=(const locked_scope&) = delete;

  private:
    unlocked_calls& calls_;
  };

  /// The scope of one call.
  class call {
  public:
    explicit call(unlocked_calls& of) noexcept
        : of_(of), has_begun_(of.lock_ != nullptr && of.locked_ == 0 && of.forks_ == 0) {
      if (has_begun_) ++of_.begun_, of_.release();
    }
    ~call() {
      if (has_begun_) of_.take_again(), ++of_.ended_;
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

  private:
    unlocked_calls& of_;
    const bool has_begun_;
  };

  /// Effects: waits until as many calls have ended as are under way. Returns: whether it has waited.
  ASHLAR_COLD bool wait_for_others() noexcept {
    const unsigned last = begun_;
    if (locked_ != 0 || last == ended_) return false;
    for (unsigned turn = 0; static_cast<int>(last - ended_) > 0; ++turn) let_others_in(turn);
    return true;
  }

  /// Effects: takes the lock around all calls, waits until no call is under way and no request waits, and has calls
  /// made under the lock up to `end_fork`.
  ASHLAR_COLD void begin_fork() noexcept {
    lock_->lock();
    ++forks_;
    for (unsigned turn = 0; begun_ != ended_ || waiting_ != 0; ++turn) let_others_in(turn);
  }
  void end_fork() noexcept {
    --forks_;
    lock_->unlock();
  }

private:
  ASHLAR_COLD void release() noexcept {
    [[maybe_unused]] auto* const noted = note(false);
    lock_->unlock();
    atomic_signal_fence();
    if (notes && noted != nullptr) noted->is_released = true;
  }
  ASHLAR_COLD void take_again() noexcept {
    if (auto* const noted = note(true); notes && noted != nullptr) noted->is_released = false;
    atomic_signal_fence();
    lock_->lock();
  }
  void let_others_in(unsigned turn) noexcept {
    ++waiting_;
    release();
    yield_or_sleep(turn);
    take_again();
    --waiting_;
  }

  // From level checked on a second lock by its holder is reported.
  static constexpr bool notes = checking_level >= checking::checked;
  [[nodiscard]] held_locks::entry* note([[maybe_unused]] bool is_released) const noexcept {
    return notes ? held_locks::find(lock_, is_released) : nullptr;
  }

  spin_lock* lock_ = nullptr;
  unsigned locked_ = 0, forks_ = 0;  // scopes; forks under way
  unsigned begun_ = 0, ended_ = 0;   // calls; the numbers may wrap
  unsigned waiting_ = 0;             // requests
};

}  // namespace ashlar::ASHLAR_ABI::detail
