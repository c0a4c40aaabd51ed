// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lock of the recorder. Its waiters sleep: a thousand threads that yield would keep its holder from the processor.
// Waiters of the library's own lock wake by time as well: five thousand threads took the processor ten times as long.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ashlar/base/config.hpp>

namespace ashlar::recorder {

/// All zeros are an open lock. Keeps errno.
class sleeping_lock {
public:
  ASHLAR_INLINE void lock() noexcept {
    if (ASHLAR_UNLIKELY(!try_lock())) wait();
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept {
    std::uint32_t found = open;
    return state_.compare_exchange_strong(found, held, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// Effects: tries for at least a tenth of a second: a lock may never be free again, where its holder is a thread that
  /// has ended or no longer runs. Returns: whether the lock is held now.
  [[nodiscard]] bool lock_patiently() noexcept {
    for (int tries = 0; tries < 1000; ++tries) {
      if (try_lock()) return true;
      usleep(100);
    }
    return false;
  }

  ASHLAR_INLINE void unlock() noexcept {
    if (ASHLAR_UNLIKELY(state_.exchange(open, std::memory_order_release) == awaited)) call(FUTEX_WAKE_PRIVATE, 1);
  }

private:
  static constexpr std::uint32_t open = 0, held = 1, awaited = 2;

  /// A lock that a waiter has got stays `awaited`, since it cannot know of others.
  ASHLAR_COLD void wait() noexcept {
    while (state_.exchange(awaited, std::memory_order_acquire) != open) call(FUTEX_WAIT_PRIVATE, awaited);
  }

  ASHLAR_COLD void call(int operation, std::uint32_t value) noexcept {
    const int error = errno;
    static_cast<void>(::syscall(SYS_futex, &state_, operation, value, nullptr));
    errno = error;
  }

  std::atomic<std::uint32_t> state_ = open;
};

}  // namespace ashlar::recorder
