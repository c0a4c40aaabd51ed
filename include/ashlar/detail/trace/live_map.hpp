// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live objects by address: the only memory of the reader that grows with the traced program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The reader's record of a live object.
struct live_object {
  std::uint64_t object = 0;  ///< 0 = none.
  std::uint32_t thread = 0;  ///< The thread that allocated it.
};

/// Open addressing with linear probing, at most 5/8 full. Erasing moves followers up, so there are no tombstones.
/// Complexity: O(1) expected; memory O(most objects live at once).
class live_map {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
    return size_ != 0 && slots_[find(address)].value.object != 0;
  }

  /// Effects: stores `value` at `address`. Expects: `address` is free.
  void insert(std::uint64_t address, live_object value) {
    if ((size_ + 1) * 8 > slots_.size() * 5) grow();
    slots_[find(address)] = {address, value};
    ++size_;
  }

  /// Effects: removes the object at `address`. Returns: it, or one with id 0 if there is none.
  live_object take(std::uint64_t address) noexcept {
    if (size_ == 0) return {};
    const std::size_t at = find(address);
    const live_object taken = slots_[at].value;
    if (taken.object != 0) erase(at);
    return taken;
  }

private:
  struct slot {
    std::uint64_t address = 0;
    live_object value;
  };

  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }

  [[nodiscard]] std::size_t home(std::uint64_t address) const noexcept {
    const std::uint64_t mixed = address * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & mask();
  }

  /// Returns: the slot of `address`, or the empty slot for it.
  [[nodiscard]] std::size_t find(std::uint64_t address) const noexcept {
    std::size_t at = home(address);
    while (slots_[at].value.object != 0 && slots_[at].address != address) at = (at + 1) & mask();
    return at;
  }

  void erase(std::size_t hole) noexcept {
    --size_;
    for (std::size_t at = hole;;) {
      slots_[hole].value = {};
      do {
        at = (at + 1) & mask();
        if (slots_[at].value.object == 0) return;
      } while (((at - home(slots_[at].address)) & mask()) < ((at - hole) & mask()));  // its home is after the hole
      slots_[hole] = slots_[at];
      hole = at;
    }
  }

  void grow() {
    std::vector<slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old)
      if (s.value.object != 0) slots_[find(s.address)] = s;
  }

  std::vector<slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
