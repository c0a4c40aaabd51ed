// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live objects of a trace by id, packed: what advice remembers of each between birth and death.
//
//     index: low half of the id -> slot           8 bytes a place, 3/8 to 3/4 of them in use
//     slot = levels, row                          levels of the call tree at which the object counts
//     objects of some levels: rows of 52 bytes    and beside them a chunk for each level, 4 bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

/// Neighbours in a list by age, as slots.
struct age_links {
  std::uint32_t older = ~std::uint32_t{0};
  std::uint32_t younger = ~std::uint32_t{0};
};

struct live_object {
  split_number size = 0;
  split_number born_ns = 0;
  split_number born_bytes = 0;
  std::uint32_t id_high = 0;  ///< The index has the other half.
  std::uint32_t thread = 0;
  std::uint32_t stack : 31 = 0;
  std::uint32_t is_grown : 1 = 0;  ///< It follows a smaller one.
  age_links in_thread = {}, in_site = {};
};

static_assert(sizeof(live_object) == 52);

/// Invariant: every place of the index is reachable from its home without crossing an empty one. Complexity: O(1)
/// expected. Memory: O(most objects at once); blocks of objects stay, as a vector would hold two copies while it grows.
class live_objects {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Returns: the slot of an object, or `none`.
  [[nodiscard]] std::uint32_t find(std::uint64_t id) const noexcept {
    return size_ == 0 ? none : places_[place_of(id)].slot;
  }

  /// Returns: the slot of a new object, which counts at `levels` levels. Expects: it is not there.
  std::uint32_t add(std::uint64_t id, std::size_t levels) {
    if ((size_ + 1) * 4 > places_.size() * 3) grow();
    const std::uint32_t slot = take_row(levels);
    (*this)[slot] = {.id_high = static_cast<std::uint32_t>(id >> 32)};
    places_[place_of(id)] = {static_cast<std::uint32_t>(id), slot};
    ++size_;
    return slot;
  }

  /// Effects: the id is unknown from now on; the object stays until `give_back(slot)`. Expects: it is there.
  void forget(std::uint64_t id) noexcept {
    close(place_of(id));
    --size_;
  }
  void give_back(std::uint32_t slot) noexcept {
    (*this)[slot].in_thread.older = std::exchange(groups_[levels_of(slot)].free, slot);
  }

  [[nodiscard]] live_object& operator[](std::uint32_t slot) noexcept {
    return groups_[levels_of(slot)].blocks[row_of(slot) / block][row_of(slot) % block];
  }
  [[nodiscard]] const live_object& operator[](std::uint32_t slot) const noexcept {
    return groups_[levels_of(slot)].blocks[row_of(slot) / block][row_of(slot) % block];
  }
  /// Returns: the object's chunk at each level, of the arena there.
  [[nodiscard]] std::span<std::uint32_t> chunks(std::uint32_t slot) noexcept {
    const std::size_t levels = levels_of(slot);
    return {&groups_[levels].chunks[row_of(slot) / block][row_of(slot) % block * levels], levels};
  }

  /// Effects: calls `f(object)` for each one that is known, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const place& p : places_)
      if (p.slot != none) f((*this)[p.slot]);
  }

private:
  static constexpr std::uint32_t block = 4096;
  static constexpr unsigned row_bits = 29;

  struct place {
    std::uint32_t id_low = 0;
    std::uint32_t slot = none;  ///< `none`: empty.
  };

  /// The objects with one number of levels.
  struct group {
    std::vector<std::unique_ptr<live_object[]>> blocks;
    std::vector<std::unique_ptr<std::uint32_t[]>> chunks;
    std::uint32_t rows = 0;
    std::uint32_t free = none;  ///< A list, by `in_thread.older`.
  };

  static_assert(call_tree::most_levels < 7, "a slot of 7 levels could be `none`");

  [[nodiscard]] static std::size_t levels_of(std::uint32_t slot) noexcept { return slot >> row_bits; }
  [[nodiscard]] static std::uint32_t row_of(std::uint32_t slot) noexcept { return slot & ((1U << row_bits) - 1); }

  std::uint32_t take_row(std::size_t levels) {
    group& g = groups_[levels];
    if (g.free != none) return std::exchange(g.free, (*this)[g.free].in_thread.older);
    if (g.rows % block == 0) {
      g.blocks.push_back(std::make_unique<live_object[]>(block));
      g.chunks.push_back(std::make_unique<std::uint32_t[]>(block * levels + 1));
    }
    return static_cast<std::uint32_t>(levels) << row_bits | g.rows++;
  }

  [[nodiscard]] std::size_t mask() const noexcept { return places_.size() - 1; }
  // Fibonacci hashing: consecutive ids get distant and evenly spread homes.
  [[nodiscard]] std::size_t home(std::uint32_t id_low) const noexcept {
    return static_cast<std::size_t>((id_low * std::uint64_t{0x9E3779B97F4A7C15}) >> 32) & mask();
  }

  /// Returns: the place of the object, or the empty one for it.
  [[nodiscard]] std::size_t place_of(std::uint64_t id) const noexcept {
    const auto low = static_cast<std::uint32_t>(id), high = static_cast<std::uint32_t>(id >> 32);
    for (std::size_t at = home(low);; at = (at + 1) & mask()) {
      const place& p = places_[at];
      if (p.slot == none || (p.id_low == low && (*this)[p.slot].id_high == high)) return at;
    }
  }

  void close(std::size_t hole) noexcept {
    for (std::size_t at = (hole + 1) & mask(); places_[at].slot != none; at = (at + 1) & mask()) {
      // An entry may move back into the hole only if its home is not between the two.
      if (((at - home(places_[at].id_low)) & mask()) < ((at - hole) & mask())) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = {};
  }

  void grow() {
    std::vector<place> old(places_.empty() ? 64 : places_.size() * 2);
    old.swap(places_);
    for (const place& p : old) {
      if (p.slot == none) continue;
      std::size_t at = home(p.id_low);
      while (places_[at].slot != none) at = (at + 1) & mask();
      places_[at] = p;
    }
  }

  std::vector<place> places_;
  std::size_t size_ = 0;
  std::array<group, call_tree::most_levels + 1> groups_;
};

}  // namespace ashlar::cli
