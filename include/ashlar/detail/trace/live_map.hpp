// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live objects by address: the only memory of the reader that grows with the traced program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/block_table.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail::trace_io {

/// The reader's record of a live object.
struct live_object {
  std::uint64_t object = 0;  ///< 0 = none.
  std::uint32_t thread = 0;  ///< The thread that allocated it.
  std::uint32_t slot = 0;    ///< No other object has it until `give_back(slot)`.
};

/// An index of hashes over the slots of the objects. The index is open addressing with linear probing, at most 3/4
/// full; erasing moves followers up, so there are no tombstones. The slot given back last is taken first, so that
/// objects of one time are neighbours.
/// Complexity: O(1) expected; memory O(most objects live at once), 8 bytes a place of the index and 16 a slot: an
/// object's id has 40 bits, which a trace of 100 GB does not exhaust, and a thread 24, the lowest of its number.
class live_map {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
    return size_ != 0 && index_[find(address)].number != 0;
  }

  /// Effects: prefetches the place of `address` in the index; the slot, once that place is in a cache.
  void expect(std::uint64_t address) const noexcept {
    if (size_ != 0) ASHLAR_FETCH_TO_WRITE(&index_[hash(address) & mask()]);
  }
  void expect_slot(std::uint64_t address) const noexcept {
    if (size_ == 0) return;
    if (const std::uint32_t number = index_[hash(address) & mask()].number; number != 0)
      ASHLAR_FETCH_TO_WRITE(&slots_[number - 1]);
  }

  /// Returns: the slot of a new object at `address`. Expects: `address` is free; the object is not 0.
  std::uint32_t insert(std::uint64_t address, std::uint64_t object, std::uint32_t thread) {
    const std::uint32_t slot = take_slot();
    slots_[slot].owner = object << thread_bits | (thread & thread_mask);
    restore(address, slot);
    return slot;
  }

  /// Effects: the object of `slot`, which was taken out, is at `address` again. Expects: `address` is free.
  void restore(std::uint64_t address, std::uint32_t slot) {
    if ((size_ + 1) * 4 > index_.size() * 3) grow();
    slots_[slot].address = address;
    index_[find(address)] = {hash(address), slot + 1};
    ++size_;
  }

  /// Effects: removes the object at `address`, but for its slot. Returns: it, or one with id 0 if there is none.
  live_object take_out(std::uint64_t address) noexcept {
    if (size_ == 0) return {};
    const std::size_t at = find(address);
    if (index_[at].number == 0) return {};
    const std::uint32_t slot = index_[at].number - 1;
    erase(at);
    const std::uint64_t owner = slots_[slot].owner;
    return {owner >> thread_bits, static_cast<std::uint32_t>(owner & thread_mask), slot};
  }

  /// Effects: the slot of an object that was taken out is free.
  void give_back(std::uint32_t slot) noexcept { slots_[slot].address = std::exchange(free_, slot); }

private:
  static constexpr unsigned thread_bits = 24;
  static constexpr std::uint64_t thread_mask = (std::uint64_t{1} << thread_bits) - 1;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct place {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  ///< Of the slot, from 1; 0: empty.
  };

  struct slot_of_object {
    std::uint64_t address = 0;  ///< Of a free slot: the next free one, or `none`.
    std::uint64_t owner = 0;    ///< The object above the thread.
  };

  [[nodiscard]] std::size_t mask() const noexcept { return index_.size() - 1; }

  [[nodiscard]] static std::uint32_t hash(std::uint64_t address) noexcept {
    return static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15) >> 32);
  }

  /// Returns: the place of `address`, or the empty place for it.
  [[nodiscard]] std::size_t find(std::uint64_t address) const noexcept {
    const std::uint32_t wanted = hash(address);
    for (std::size_t at = wanted & mask();; at = (at + 1) & mask()) {
      const place& p = index_[at];
      if (p.number == 0 || (p.hash == wanted && slots_[p.number - 1].address == address)) return at;
    }
  }

  void erase(std::size_t hole) noexcept {
    --size_;
    for (std::size_t at = hole;;) {
      index_[hole].number = 0;
      do {
        at = (at + 1) & mask();
        if (index_[at].number == 0) return;
      } while (((at - index_[at].hash) & mask()) < ((at - hole) & mask()));  // its home is after the hole
      index_[hole] = index_[at];
      hole = at;
    }
  }

  void grow() {
    std::vector<place> old(index_.empty() ? 64 : index_.size() * 2);
    old.swap(index_);
    for (const place& p : old) {
      if (p.number == 0) continue;
      std::size_t at = p.hash & mask();
      while (index_[at].number != 0) at = (at + 1) & mask();
      index_[at] = p;
    }
  }

  std::uint32_t take_slot() {
    if (free_ != none) return std::exchange(free_, static_cast<std::uint32_t>(slots_[free_].address));
    slots_.reach(used_);
    return used_++;
  }

  std::vector<place> index_;
  block_table<slot_of_object> slots_;
  std::uint32_t free_ = none;  // a list, the slot given back last first
  std::uint32_t used_ = 0;     // slots that an object has had
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail::trace_io
