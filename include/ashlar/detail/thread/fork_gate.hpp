// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gate before all locks of a fork: none is taken while a callback of the program runs under one of them.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/platform.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A callback under the lock of one participant may use others, whose locks a fork would hold while it waits for the
/// first. So a thread enters before it takes that lock, and a fork that waits for the gate holds no lock.
///
///     thread: enter -> lock -> callback -> unlock -> leave
///     fork:   close (no thread is inside) -> all locks -> fork -> unlock -> open
///
/// Enters nest, and in the end none waits for a fork that waits: its callbacks may hold locks for which a thread waits
/// that is inside. A thread only gives way to such a fork for a few milliseconds, so that forks have their turn beside
/// threads that are inside most of the time. Thread safety: any thread.
class fork_gate {
public:
  ASHLAR_COLD void enter() noexcept {
    for (unsigned turn = 0; !try_enter(turn >= most_turns); ++turn) yield_or_sleep(turn);
  }

  void leave() noexcept {
    const lock_scope held(lock_);
    --inside_;
  }

  /// Effects: waits until no thread is inside; none enters until `open`, which the child calls too.
  ASHLAR_COLD void close() noexcept {
    lock_.lock();
    for (unsigned turn = 0; inside_ != 0; lock_.lock()) {
      is_wanted_ = true;
      lock_.unlock();
      yield_or_sleep(turn++);
    }
    is_wanted_ = false;
  }
  void open() noexcept { lock_.unlock(); }

private:
  static constexpr unsigned most_turns = 48;

  [[nodiscard]] bool try_enter(bool at_once) noexcept {
    const lock_scope held(lock_);
    if (is_wanted_ && !at_once) return false;
    ++inside_;
    return true;
  }

  spin_lock lock_;  // held over a fork
  unsigned inside_ = 0;
  bool is_wanted_ = false;  // a fork waits
};

}  // namespace ashlar::ASHLAR_ABI::detail
