// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A spin lock that knows the thread which holds it, and so names a thread that would wait for itself.
#pragma once

#include <atomic>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// As `spin_lock`, but a thread that holds it and wants it again ends the process with a message. The lock itself is
/// the note of its holder: a signal finds both or neither, and a short section under it needs no `report_scope`, as
/// long as it reports nothing.
class owner_lock {
public:
  ASHLAR_INLINE void lock() noexcept {
    if (ASHLAR_UNLIKELY(!try_lock())) wait();
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept {
    const void* nobody = nullptr;
    return holder_.compare_exchange_strong(nobody, &this_thread_, std::memory_order_acquire,  // pairs with unlock()
                                           std::memory_order_relaxed);
  }

  ASHLAR_INLINE void unlock() noexcept { holder_.store(nullptr, std::memory_order_release); }

private:
  static constexpr unsigned spins_before_yield = 64;

  ASHLAR_COLD void wait() noexcept {
    if (holder_.load(std::memory_order_relaxed) == &this_thread_) held_locks::end_for_reentry();
    do {
      for (unsigned spin = 0; holder_.load(std::memory_order_relaxed) != nullptr; ++spin)
        if (spin >= spins_before_yield) yield_thread();
    } while (!try_lock());
  }

  static inline constinit ASHLAR_THREAD_LOCAL const char this_thread_ = 0;  // its address is the thread's name

  std::atomic<const void*> holder_ = nullptr;
};

static_assert(basic_lockable<owner_lock>);

}  // namespace detail

template <>
inline constexpr bool never_recursive<detail::owner_lock> = true;

}  // namespace ASHLAR_ABI
}  // namespace ashlar
