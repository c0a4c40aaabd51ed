// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call at the end of a thread, after the calls of nearly all others, for code that a malloc calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/thread/thread_end.hpp>

#if ASHLAR_POSIX
#include <climits>
#include <pthread.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// The end of a thread, by one key: a `thread_local` object with a destructor allocates to register it, a guarded
/// static takes a lock, and both are destroyed first at the end of the main thread, which still runs destructors then.
///
///     end of a thread:  thread_local objects -> keys, round 1 -> keys, round 2 -> keys, round 3: the call -> round 4
///                                                `-- the key is set again ---------^
///
/// Destructors of other keys may set values again, and need the thread's data: all but those of the last round find it.
/// Over musl a key destroys the thread-local objects.
/// `exit` destroys no keys, so the main thread has no end, unless it calls `pthread_exit`. Where there are no keys
/// `thread_end` makes the call. Static storage, never destroyed; the code stays loaded. Thread safety: any thread.
class late_thread_end {
public:
  using function = void (*)(void* self) noexcept;

  /// `at_end(self)` is called in each thread that has entered.
  constexpr late_thread_end(function at_end, void* self) noexcept : at_end_(at_end), self_(self) {
    for (round& each : rounds_) each.of = this;
  }
  late_thread_end(const late_thread_end&) = delete;  // keys point to it
  late_thread_end& operator=(const late_thread_end&) = delete;

#if ASHLAR_POSIX
  /// Effects: calls `at_end(self)` once at the end of this thread. May allocate, by the system's use of malloc.
  /// Returns: false, without a later call, if the system has no key or no memory left.
  [[nodiscard]] bool enter() noexcept { return make_key() && set(rounds_.data()); }

private:
  struct round {
    late_thread_end* of = nullptr;
  };
  // One before the last: there an implementation may stop early.
  static constexpr std::size_t most_rounds = detail::max(2, PTHREAD_DESTRUCTOR_ITERATIONS) - 1;

  // A key takes no memory. Of two threads that make it one gives its own back.
  [[nodiscard]] bool make_key() noexcept {
    if (ASHLAR_LIKELY(key_.load(memory_order_acquire) != 0)) return true;
    pthread_key_t made = {};
    if (::pthread_key_create(&made, end_round) != 0) return false;
    std::uint64_t none = 0;
    const std::uint64_t mine = static_cast<std::uint64_t>(made) + 1;
    if (!key_.compare_exchange_strong(none, mine, memory_order_acq_rel, memory_order_acquire))
      static_cast<void>(::pthread_key_delete(made));
    return true;
  }

  [[nodiscard]] bool set(round* next) const noexcept {
    return ::pthread_setspecific(static_cast<pthread_key_t>(key_.load(memory_order_acquire) - 1), next) == 0;
  }

  static void end_round(void* value) noexcept {
    round* const ended = static_cast<round*>(value);
    late_thread_end& self = *ended->of;
    if (ended != &self.rounds_.back() && self.set(ended + 1)) return;
    self.at_end_(self.self_);
  }

  std::array<round, most_rounds> rounds_ = {};  // their addresses are the values of the key
  atomic<std::uint64_t> key_ = 0;               // plus 1; 0 without a key
#else
  [[nodiscard]] bool enter() noexcept {
    mine_.at_end = [](thread_end_participant*) noexcept { mine_of_->at_end_(mine_of_->self_); };
    mine_of_ = this;
    return thread_end::enter(mine_);
  }

private:
  struct round {
    late_thread_end* of = nullptr;
  };
  std::array<round, 1> rounds_ = {};
  static inline constinit thread_local thread_end_participant mine_ = {};
  static inline constinit thread_local late_thread_end* mine_of_ = nullptr;
#endif

  function at_end_;
  void* self_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
