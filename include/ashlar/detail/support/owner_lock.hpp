// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock that records its holder and so detects a thread that would wait for itself.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/held_locks.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/lock_word.hpp>

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

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept { return word_.try_lock(this_thread()); }

  ASHLAR_INLINE void unlock() noexcept { word_.unlock(this_thread()); }

private:
  ASHLAR_COLD void wait() noexcept {
    if (word_.holder() == this_thread()) held_locks::end_for_reentry();
    word_.wait(this_thread());
  }

  [[nodiscard]] static ASHLAR_INLINE std::uintptr_t this_thread() noexcept { return address_of(&this_thread_); }

  static inline constinit ASHLAR_THREAD_LOCAL const short this_thread_ = 0;  // its address identifies the thread

  lock_word word_;
};

static_assert(basic_lockable<owner_lock>);

}  // namespace detail

template <>
inline constexpr bool never_recursive<detail::owner_lock> = true;

}  // namespace ashlar::ASHLAR_ABI
