// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bits that differ in each process and cannot be known outside of it, for random placement and canaries.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/kernel.hpp>
#include <ashlar/detail/system/auxiliary_values.hpp>
#include <ashlar/detail/system/coarse_clock.hpp>

#if ASHLAR_POSIX && !defined(__linux__)
#include <stdlib.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: a word that is the same at each call in a process: of the 16 random bytes that Linux gives each program;
/// on other systems of an address. Complexity: a search of some 20 entries.
[[nodiscard]] ASHLAR_COLD inline std::uint64_t process_secret() noexcept {
#if defined(__linux__) && ASHLAR_POSIX
  if (const unsigned long bytes = auxiliary_value<AT_RANDOM>::get(); bytes != 0) {
    std::uint64_t words[2];
    std::memcpy(words, reinterpret_cast<const void*>(bytes), sizeof words);
    return detail::mixed(words[0] ^ detail::mixed(words[1]));  // the first bytes guard stacks: they stay secret
  }
#endif
  static const char here = 0;
  return detail::mixed(address_of(&here));
}

/// Returns: a word that no other call in any process has, and no other program knows. The system may refuse its random
/// bytes: then a word of the process, the time and the thread's stack. Complexity: a system call.
[[nodiscard]] ASHLAR_COLD inline std::uint64_t fresh_secret() noexcept {
  std::uint64_t word = 0;
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_getrandom)
  constexpr unsigned no_waiting = 1;  // GRND_NONBLOCK: early at boot there are none
  if (detail::call_kernel(SYS_getrandom, &word, sizeof word, no_waiting) == long{sizeof word}) return word;
  word = static_cast<std::uint64_t>(detail::call_kernel(SYS_getpid));
#elif defined(__FreeBSD__) || defined(__APPLE__) || defined(__NetBSD__) || defined(__OpenBSD__)
  ::arc4random_buf(&word, sizeof word);
  return word;
#endif
  return detail::mixed(process_secret() ^ detail::mixed(word ^ detail::coarse_ms()) ^ address_of(&word));
}

/// The words that each sequence begins again with in the child of a fork: else the children of one process, which all
/// have its memory, would go on alike. Thread safety: any thread.
class random_epoch {
public:
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t number() noexcept { return number_.load(memory_order_relaxed); }
  [[nodiscard]] static std::uint64_t secret() noexcept { return secret_.load(memory_order_relaxed); }

  /// Effects: begins an epoch. Expects: the caller is the only thread. Complexity: a system call.
  ASHLAR_COLD static void begin() noexcept {
    secret_.store(fresh_secret(), memory_order_relaxed);
    number_.store(number() + 1, memory_order_relaxed);
  }

private:
  static inline constinit atomic<std::uint32_t> number_ = 1;
  static inline constinit atomic<std::uint64_t> secret_ = 0;
};

/// A sequence of random words. Not for cryptography: some of its words tell the others. The seed waits for the first
/// use, so that a constant-initialised object has one. Thread safety: none.
class random_bits {
public:
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next() noexcept {
    if (ASHLAR_UNLIKELY(!is_seeded())) seed();
    return detail::mixed(state_ += 0x9E3779B97F4A7C15u);
  }

  /// Returns: whether there is a seed of this epoch, without which the next call takes longer.
  [[nodiscard]] ASHLAR_INLINE bool is_seeded() const noexcept { return epoch_ == random_epoch::number(); }

  /// Returns: a random number below 64. One word serves for ten of them.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next_of_64() noexcept {
    if (ASHLAR_UNLIKELY(!is_seeded())) seed();
    return next_of_64_seeded();
  }
  /// As above. Expects: `is_seeded`.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next_of_64_seeded() noexcept {
    if (ASHLAR_UNLIKELY(rest_ <= 1)) rest_ = next() >> 4 | std::uint64_t{1} << 60;  // the one marks the end
    const std::uint64_t chosen = rest_ % 64;
    rest_ /= 64;
    return chosen;
  }

private:
  ASHLAR_COLD void seed() noexcept {
    state_ = process_secret() ^ random_epoch::secret() ^ address_of(this) ^ detail::coarse_ms();
    rest_ = 0;
    epoch_ = random_epoch::number();
  }

  std::uint64_t state_ = 0;
  std::uint64_t rest_ = 0;
  std::uint32_t epoch_ = 0;
};

/// No random words, where placement is fixed.
struct no_random_bits {
  [[nodiscard]] static std::uint64_t next() noexcept { return 0; }
  [[nodiscard]] static std::uint64_t next_of_64() noexcept { return 0; }
  [[nodiscard]] static std::uint64_t next_of_64_seeded() noexcept { return 0; }
  [[nodiscard]] static bool is_seeded() noexcept { return true; }
};

template <bool IsRandom>
using random_bits_if = std::conditional_t<IsRandom, random_bits, no_random_bits>;

}  // namespace ashlar::ASHLAR_ABI::detail
