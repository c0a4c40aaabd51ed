// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A spin lock that records its holder and so detects a thread that would wait for itself.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/platform.hpp>

namespace ashlar::ASHLAR_ABI {
namespace detail {

/// As `spin_lock`, but a second lock by the holding thread ends the process with a message. One word is both the lock
/// and the record of its holder, so a signal handler sees both or neither. A short critical section without reports
/// needs no `report_scope`.
class owner_lock {
public:
  ASHLAR_INLINE void lock() noexcept {
    if (ASHLAR_UNLIKELY(!try_lock())) wait();
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept {
    const void* no_thread = nullptr;
    return holder_.compare_exchange_strong(no_thread, &this_thread_, memory_order_acquire,  // pairs with unlock()
                                           memory_order_relaxed);
  }

  ASHLAR_INLINE void unlock() noexcept { holder_.store(nullptr, memory_order_release); }

private:
  static constexpr unsigned spins_before_yield = 64;

  ASHLAR_COLD void wait() noexcept {
    if (holder_.load(memory_order_relaxed) == &this_thread_) held_locks::end_for_reentry();
    unsigned turn = 0;
    do {
      for (unsigned spin = 0; holder_.load(memory_order_relaxed) != nullptr; ++spin)
        if (spin >= spins_before_yield) yield_or_sleep(turn++);
    } while (!try_lock());
  }

  static inline constinit ASHLAR_THREAD_LOCAL const char this_thread_ = 0;  // its address identifies the thread

  atomic<const void*> holder_ = nullptr;
};

static_assert(basic_lockable<owner_lock>);

}  // namespace detail

template <>
inline constexpr bool never_recursive<detail::owner_lock> = true;

}  // namespace ashlar::ASHLAR_ABI
