// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calling process by what no other process of the machine has, and by its number.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/random_bits.hpp>

#if ASHLAR_POSIX
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ashlar::ASHLAR_ABI::detail {

/// Numbers of processes and threads repeat: each PID namespace, and so each container, counts from 1. All is asked for
/// at the first call, and again at the first call after a fork. Thread safety: any thread.
class process_identity {
public:
  /// Returns: a random number of the process, not 0; each library has one of its own. Complexity: O(1).
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t key() noexcept {
    const std::uint64_t known = key_.load(memory_order_acquire);  // pairs with the release in ask()
    return ASHLAR_LIKELY(known != 0) ? known : ask();
  }

  /// Returns: the number of the process in its PID namespace. Complexity: O(1).
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t number() noexcept {
    static_cast<void>(key());
    return number_.load(memory_order_relaxed);
  }

  /// Returns: a number for other namespaces, above 2^31: of the program's random bytes, the namespace and the number,
  /// so that all libraries have one. Complexity: O(1).
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t foreign_number() noexcept {
    static_cast<void>(key());
    return foreign_number_.load(memory_order_relaxed);
  }

  /// Returns: the PID namespace of the process; 0 where there is but one, or where /proc does not tell.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t space() noexcept {
    static_cast<void>(key());
    return space_.load(memory_order_relaxed);
  }

private:
  // The handler is registered before the key is stored, so that no child inherits a key without one. Threads that come
  // at once ask twice: the first key counts.
  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static std::uint64_t ask() noexcept {
    if (!forgets_at_fork_.load(memory_order_relaxed)) {
      if (::pthread_atfork(nullptr, nullptr, forget) == 0) forgets_at_fork_.store(true, memory_order_relaxed);
    }
    const auto number = static_cast<std::uint32_t>(::getpid());
    const std::uint64_t space = ask_space();
    const std::uint64_t mixture = detail::mixed(process_secret() ^ detail::mixed(space << 32 ^ number));
    number_.store(number, memory_order_relaxed);
    space_.store(space, memory_order_relaxed);
    foreign_number_.store(static_cast<std::uint32_t>(mixture) | std::uint32_t{1} << 31, memory_order_relaxed);
    std::uint64_t none = 0;
    const std::uint64_t made = fresh_secret() | 1;
    return key_.compare_exchange_strong(none, made, memory_order_release, memory_order_acquire) ? made : none;
  }
  ASHLAR_OF_THIS_LIBRARY static void forget() { key_.store(0, memory_order_relaxed); }

  [[nodiscard]] static std::uint64_t ask_space() noexcept {
    std::uint64_t found = 0;
#if defined(__linux__)
    struct ::stat of{};
    if (::stat("/proc/self/ns/pid", &of) == 0) found = of.st_ino;
#endif
    return found;
  }

  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint64_t> key_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint64_t> space_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint32_t> number_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint32_t> foreign_number_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<bool> forgets_at_fork_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif
