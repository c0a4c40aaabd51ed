// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live objects of a trace by the slots of their events, packed: what advice remembers of each between birth and
// death.
//
//     index: slot of the event -> handle          4 bytes for each of the most objects at once
//     handle = levels, row                        levels of the call tree at which the object counts
//     objects of some levels: rows of 48 bytes    and beside them a chunk for each level, 4 bytes
#pragma once

#include <array>
#include <memory>

#include "cli/advise/call_tree.hpp"

namespace ashlar::cli {

/// A number of 64 bits that may stand at any multiple of 4 bytes.
class split_number {
public:
  constexpr split_number(std::uint64_t value) noexcept
      : low_(static_cast<std::uint32_t>(value)), high_(static_cast<std::uint32_t>(value >> 32)) {}
  constexpr operator std::uint64_t() const noexcept { return std::uint64_t{high_} << 32 | low_; }

private:
  std::uint32_t low_, high_;
};

/// Neighbours in a list by age, as handles.
struct age_links {
  std::uint32_t older = ~std::uint32_t{0};
  std::uint32_t younger = ~std::uint32_t{0};
};

struct live_object {
  split_number size = 0;
  split_number born_ns = 0;
  split_number born_bytes = 0;
  std::uint32_t thread = 0;
  std::uint32_t stack : 31 = 0;
  std::uint32_t is_grown : 1 = 0;  ///< It follows a smaller one.
  age_links in_thread = {}, in_site = {};
};

static_assert(sizeof(live_object) == 48);

/// Complexity: O(1). Memory: O(most objects at once); blocks of objects stay, where a growing vector would have copies.
class live_objects {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Returns: the handle of the object whose events have this slot, or `none`.
  [[nodiscard]] std::uint32_t find(std::uint32_t event_slot) const noexcept {
    return event_slot < handles_.size() ? handles_[event_slot] : none;
  }

  /// Returns: the handle of a new object, which counts at `levels` levels. Expects: no object has the slot.
  std::uint32_t add(std::uint32_t event_slot, std::size_t levels) {
    if (event_slot >= handles_.size()) handles_.resize(event_slot + std::size_t{1}, none);
    const std::uint32_t handle = take_row(levels);
    (*this)[handle] = {};
    return handles_[event_slot] = handle;
  }

  /// Effects: the slot is free from now on; the object stays until `give_back(handle)`. Returns: its handle, or `none`.
  std::uint32_t take_out(std::uint32_t event_slot) noexcept {
    return event_slot < handles_.size() ? std::exchange(handles_[event_slot], none) : none;
  }
  void give_back(std::uint32_t handle) noexcept {
    (*this)[handle].in_thread.older = std::exchange(groups_[levels_of(handle)].free, handle);
  }

  [[nodiscard]] live_object& operator[](std::uint32_t handle) noexcept {
    return groups_[levels_of(handle)].blocks[row_of(handle) / block][row_of(handle) % block];
  }
  [[nodiscard]] const live_object& operator[](std::uint32_t handle) const noexcept {
    return groups_[levels_of(handle)].blocks[row_of(handle) / block][row_of(handle) % block];
  }
  /// Returns: the object's chunk at each level, of the arena there.
  [[nodiscard]] std::span<std::uint32_t> chunks(std::uint32_t handle) noexcept {
    const std::size_t levels = levels_of(handle);
    return {&groups_[levels].chunks[row_of(handle) / block][row_of(handle) % block * levels], levels};
  }

  /// Effects: calls `f(object)` for each one that is known, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const std::uint32_t handle : handles_)
      if (handle != none) f((*this)[handle]);
  }

private:
  static constexpr std::uint32_t block = 4096;
  static constexpr unsigned row_bits = 29;

  /// The objects with one number of levels.
  struct group {
    std::vector<std::unique_ptr<live_object[]>> blocks;
    std::vector<std::unique_ptr<std::uint32_t[]>> chunks;
    std::uint32_t rows = 0;
    std::uint32_t free = none;  ///< A list, by `in_thread.older`.
  };

  static_assert(call_tree::most_levels < 7, "a handle of 7 levels could be `none`");

  [[nodiscard]] static std::size_t levels_of(std::uint32_t handle) noexcept { return handle >> row_bits; }
  [[nodiscard]] static std::uint32_t row_of(std::uint32_t handle) noexcept { return handle & ((1U << row_bits) - 1); }

  std::uint32_t take_row(std::size_t levels) {
    group& g = groups_[levels];
    if (g.free != none) return std::exchange(g.free, (*this)[g.free].in_thread.older);
    if (g.rows % block == 0) {
      g.blocks.push_back(std::make_unique<live_object[]>(block));
      g.chunks.push_back(std::make_unique<std::uint32_t[]>(block * levels + 1));
    }
    return static_cast<std::uint32_t>(levels) << row_bits | g.rows++;
  }

  std::vector<std::uint32_t> handles_;  // by the slots of events
  std::array<group, call_tree::most_levels + 1> groups_;
};

}  // namespace ashlar::cli
