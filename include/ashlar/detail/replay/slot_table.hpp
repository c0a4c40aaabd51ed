// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots for the live objects of a trace: dense numbers, reused in later windows but never within one.
#pragma once

#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/id_map.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Invariant: a slot is live, free, or resting until the window ends. Their number never exceeds the largest number of
/// live objects plus the operations of one window.
class slot_table {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Returns: the slot of the new `object`, or `none` if it is live already. Expects: `object != 0`.
  [[nodiscard]] std::uint32_t take(std::uint64_t object) {
    const std::uint32_t slot = free_.empty() ? count_ : free_.back();
    if (!slots_.insert(object, slot)) return none;
    if (free_.empty()) ++count_;
    else free_.pop_back();
    return slot;
  }

  /// Returns: the slot of `object`, which is dead from now on, or `none` if it is not live.
  [[nodiscard]] std::uint32_t give_back(std::uint64_t object) {
    const std::uint32_t slot = find(object);
    if (slot == none) return none;
    slots_.erase(object);
    resting_.push_back(slot);
    return slot;
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t object) noexcept {
    const std::uint32_t* slot = object == 0 ? nullptr : slots_.find(object);
    return slot == nullptr ? none : *slot;
  }

  /// Effects: slots given back in the window that ends may be taken again.
  void end_window() {
    free_.insert(free_.end(), resting_.begin(), resting_.end());
    resting_.clear();
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t live() const noexcept { return slots_.size(); }

private:
  id_map<std::uint32_t> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> resting_;
  std::uint32_t count_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
