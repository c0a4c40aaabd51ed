// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bits that differ in each process and cannot be known outside of it, for random placement and canaries.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/auxiliary_values.hpp>
#include <ashlar/detail/system/coarse_clock.hpp>

#if defined(__linux__)
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>
#elif ASHLAR_POSIX
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
#if defined(__linux__) && defined(SYS_getrandom)
  constexpr unsigned no_waiting = 1;  // GRND_NONBLOCK: early at boot there are none
  const int error = errno;
  const bool is_given = ::syscall(SYS_getrandom, &word, sizeof word, no_waiting) == long{sizeof word};
  errno = error;
  if (is_given) return word;
  word = static_cast<std::uint64_t>(::getpid());
#elif defined(__FreeBSD__) || defined(__APPLE__) || defined(__NetBSD__) || defined(__OpenBSD__)
  ::arc4random_buf(&word, sizeof word);
  return word;
#endif
  return detail::mixed(process_secret() ^ detail::mixed(word ^ detail::coarse_ms()) ^ address_of(&word));
}

/// A sequence of random words. Not for cryptography: some of its words tell the others. The seed waits for the first
/// use, so that a constant-initialised object has one. Thread safety: none.
class random_bits {
public:
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next() noexcept {
    if (ASHLAR_UNLIKELY(state_ == 0)) seed();
    return detail::mixed(state_ += 0x9E3779B97F4A7C15u);
  }

  /// Returns: whether there is a seed, without which the next call takes longer.
  [[nodiscard]] ASHLAR_INLINE bool is_seeded() const noexcept { return state_ != 0; }

  /// Returns: a random number below 64. One word serves for ten of them.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next_of_64() noexcept {
    if (ASHLAR_UNLIKELY(rest_ <= 1)) rest_ = next() >> 4 | std::uint64_t{1} << 60;  // the one marks the end
    const std::uint64_t chosen = rest_ % 64;
    rest_ /= 64;
    return chosen;
  }

private:
  ASHLAR_COLD void seed() noexcept { state_ = process_secret() ^ address_of(this) ^ detail::coarse_ms(); }

  std::uint64_t state_ = 0;
  std::uint64_t rest_ = 0;
};

/// No random words, where placement is fixed.
struct no_random_bits {
  [[nodiscard]] static std::uint64_t next() noexcept { return 0; }
  [[nodiscard]] static std::uint64_t next_of_64() noexcept { return 0; }
  [[nodiscard]] static bool is_seeded() noexcept { return true; }
};

template <bool IsRandom>
using random_bits_if = std::conditional_t<IsRandom, random_bits, no_random_bits>;

}  // namespace ashlar::ASHLAR_ABI::detail
