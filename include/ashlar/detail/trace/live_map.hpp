// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live objects by address: the only memory of the reader that grows with the traced program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The reader's record of a live object.
struct live_object {
  std::uint64_t object = 0;  ///< 0 = none.
  std::uint32_t thread = 0;  ///< The thread that allocated it.
};

/// Open addressing with linear probing, at most 3/4 full. Erasing moves followers up, so there are no tombstones.
/// Complexity: O(1) expected; memory O(most objects live at once), 16 bytes a slot: an object's id has 40 bits, which a
/// trace of 100 GB does not exhaust, and a thread 24, the lowest of its number.
class live_map {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
    return size_ != 0 && slots_[find(address)].owner != 0;
  }

  /// Effects: prefetches the slot of `address`.
  void expect(std::uint64_t address) const noexcept {
    if (size_ != 0) ASHLAR_FETCH_TO_WRITE(&slots_[home(address)]);
  }

  /// Effects: stores `value` at `address`. Expects: `address` is free; the object is not 0.
  void insert(std::uint64_t address, live_object value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    slots_[find(address)] = {address, value.object << thread_bits | (value.thread & thread_mask)};
    ++size_;
  }

  /// Effects: removes the object at `address`. Returns: it, or one with id 0 if there is none.
  live_object take(std::uint64_t address) noexcept {
    if (size_ == 0) return {};
    const std::size_t at = find(address);
    const std::uint64_t owner = slots_[at].owner;
    if (owner == 0) return {};
    erase(at);
    return {owner >> thread_bits, static_cast<std::uint32_t>(owner & thread_mask)};
  }

private:
  static constexpr unsigned thread_bits = 24;
  static constexpr std::uint64_t thread_mask = (std::uint64_t{1} << thread_bits) - 1;

  struct slot {
    std::uint64_t address = 0;
    std::uint64_t owner = 0;  ///< The object above the thread; 0: empty.
  };

  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }

  [[nodiscard]] std::size_t home(std::uint64_t address) const noexcept {
    const std::uint64_t mixed = address * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & mask();
  }

  /// Returns: the slot of `address`, or the empty slot for it.
  [[nodiscard]] std::size_t find(std::uint64_t address) const noexcept {
    std::size_t at = home(address);
    while (slots_[at].owner != 0 && slots_[at].address != address) at = (at + 1) & mask();
    return at;
  }

  void erase(std::size_t hole) noexcept {
    --size_;
    for (std::size_t at = hole;;) {
      slots_[hole].owner = 0;
      do {
        at = (at + 1) & mask();
        if (slots_[at].owner == 0) return;
      } while (((at - home(slots_[at].address)) & mask()) < ((at - hole) & mask()));  // its home is after the hole
      slots_[hole] = slots_[at];
      hole = at;
    }
  }

  void grow() {
    std::vector<slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old)
      if (s.owner != 0) slots_[find(s.address)] = s;
  }

  std::vector<slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
