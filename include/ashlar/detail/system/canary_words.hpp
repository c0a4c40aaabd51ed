// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a canary: of a secret of the process and of their address, so that none is the same in two processes or
// two places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/system/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The secret of all canaries of a process. A forked child keeps it, as its blocks have canaries of it. Thread safety:
/// any thread.
class canary_secret {
public:
  /// Returns: the canary in the aligned word at `address`. None of its bytes is 0, the byte that ends a text.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t word(std::uintptr_t address) noexcept {
    std::uint64_t factor = factor_.load(memory_order_acquire);  // pairs with the release in make()
    if (ASHLAR_UNLIKELY(factor == 0)) factor = make();
    const std::uint64_t product = (address ^ term_.load(memory_order_relaxed)) * factor;
    return (product ^ product >> 32) | 0x0101'0101'0101'0101u;
  }

  /// Returns: the canary in the byte at `p`.
  [[nodiscard]] static ASHLAR_INLINE unsigned char byte(const void* p) noexcept {
    const std::uint64_t whole = word(address_of(p) & ~std::uintptr_t{7});
    unsigned char bytes[sizeof whole];
    std::memcpy(bytes, &whole, sizeof whole);
    return bytes[address_of(p) & 7];
  }

private:
  // Two threads that come at once store the same two words. Returns: the factor.
  ASHLAR_COLD static std::uint64_t make() noexcept {
    const std::uint64_t secret = process_secret();
    term_.store(detail::mixed(secret + 1), memory_order_relaxed);
    const std::uint64_t factor = detail::mixed(secret + 2) | 1;
    factor_.store(factor, memory_order_release);
    return factor;
  }

  static inline constinit atomic<std::uint64_t> factor_ = 0;
  static inline constinit atomic<std::uint64_t> term_ = 0;
};

/// Effects: calls `f(at, canary, bytes)` for the pieces of up to 8 bytes of a range, with their canary.
template <class Byte, class F>
ASHLAR_INLINE void for_each_canary(Byte* from, Byte* to, F f) noexcept {
  while (from != to) {
    const std::size_t skipped = address_of(from) % sizeof(std::uint64_t);
    const std::size_t bytes = detail::min(sizeof(std::uint64_t) - skipped, static_cast<std::size_t>(to - from));
    const std::uint64_t word = canary_secret::word(address_of(from) - skipped);
    f(from, reinterpret_cast<const unsigned char*>(&word) + skipped, bytes);
    from += bytes;
  }
}

/// Effects: writes the canary to a range.
inline void fill_with_canary(std::byte* from, std::byte* to) noexcept {
  detail::for_each_canary(
      from, to, [](std::byte* at, const unsigned char* canary, std::size_t count) { std::memcpy(at, canary, count); });
}

}  // namespace ashlar::ASHLAR_ABI::detail
