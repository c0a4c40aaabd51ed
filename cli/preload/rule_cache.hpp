// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of frames at all return addresses that threads have met, compiled once for each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

#include "cli/preload/frame_rules.hpp"
#include "cli/preload/sleeping_lock.hpp"

namespace ashlar::recorder {

/// A rule in one word, so that it is read whole.
[[nodiscard]] constexpr std::uint64_t packed(const frame_rule& r) noexcept {
  return static_cast<std::uint32_t>(r.offset) | std::uint64_t{static_cast<std::uint16_t>(r.saved_words)} << 32 |
         std::uint64_t{static_cast<std::uint8_t>(r.base)} << 48;
}
[[nodiscard]] constexpr frame_rule unpacked(std::uint64_t word) noexcept {
  return {.offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(word)),
          .saved_words = static_cast<std::int16_t>(static_cast<std::uint16_t>(word >> 32)),
          .base = static_cast<frame_base>(static_cast<std::uint8_t>(word >> 48))};
}

/// A hash table of packed rules by return address. Found without a lock, added under one.
class rule_cache {
public:
  /// Effects: looks up what the search for tables needs. Returns: whether it is there.
  [[nodiscard]] bool prepare() noexcept;

  /// Returns: the packed rule at a return address. Complexity: some ns; microseconds for an address that is new.
  /// Neither allocates nor waits, but for a thread that adds a rule.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t at(std::uint64_t address) noexcept {
    const slot& s = find_slot(address);
    const std::uint64_t word = s.rule.load(std::memory_order_acquire);  // before the address is read again
    if (ASHLAR_UNLIKELY(s.address.load(std::memory_order_relaxed) != address)) return add(address);
    return word;
  }

  /// Effects: forgets all rules.
  void forget() noexcept;

  /// Effects: in a forked child: a thread that it lacks may have held the lock.
  void reset() noexcept { lock_.unlock(); }

  /// Returns: a number that `forget()` changes.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_relaxed); }
  /// Effects: changes `generation()`.
  void next_generation() noexcept { generation_.fetch_add(1, std::memory_order_relaxed); }

private:
  static constexpr std::size_t slots = std::size_t{1} << 16;
  static constexpr std::uint32_t most = slots / 2;

  struct slot {
    std::atomic<std::uint64_t> address = 0;  ///< 0 = empty.
    std::atomic<std::uint64_t> rule = 0;     ///< Written before the address is released.
  };

  [[nodiscard]] ASHLAR_INLINE slot& find_slot(std::uint64_t address) noexcept {
    for (std::size_t at = address ^ address >> 16;; ++at) {
      slot& s = slots_[at % slots];
      const std::uint64_t there = s.address.load(std::memory_order_acquire);  // pairs with the release in add()
      if (there == address || there == 0) return s;
    }
  }
  ASHLAR_COLD std::uint64_t add(std::uint64_t address) noexcept;

  slot slots_[slots] = {};
  sleeping_lock lock_;
  std::uint32_t count_ = 0;
  std::atomic<std::uint32_t> generation_ = 0;
};

extern constinit rule_cache frame_rules;

}  // namespace ashlar::recorder
