// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathers the frees of one thread into packets for the threads that own the slabs.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/part/inbox.hpp>
#include <ashlar/part/packet.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What became of a free that was handed to a `batcher`.
enum class batch_result : std::uint8_t {
  noted,          ///< it is, and will be sent
  already_noted,  ///< the cell waits in here since an earlier free: a double free
  refused,        ///< it is not: all packets are under way; take what is noted by `hand_over`
};

/// Sizes of a batcher. With the defaults it takes 9.2 KiB.
struct batch_shape {
  std::size_t packets = 8;
  std::size_t words = 63;  ///< in a packet
  std::size_t slots = 64;  ///< a power of two: words gathered at a time
};

/// Frees are gathered by word of a slab's bitmap: a direct-mapped table holds one mask a word; a word that is displaced
/// goes into a packet, and a full packet into the inbox of the slab's owner. The dead cell itself is never touched: its
/// line would travel to the freeing thread and back, which costs more than all atomics here (after Bagherzadeh et al.,
/// "BatchIt", ISMM 2024, which links the cells instead).
///
/// A batcher never waits and never allocates. Its packets come back when a taker has read them; where none is back, a
/// free is refused and the caller finds another road. `Route` is a callable: `route(key)` is the inbox of the owner of
/// that slab. After at most `most_held` frees everything noted is sent.
///
/// Invariant: a packet is under way, or being filled (at most one), or blank.
/// Thread safety: one thread; the packets that are under way belong to their takers, so the batcher must outlive them:
/// `is_idle()` says when.
template <class Atomics = std_atomics, batch_shape Shape = batch_shape{}>
class batcher {
  static_assert(std::has_single_bit(Shape.slots) && Shape.slots > 1 && Shape.packets != 0);

public:
  using packet_type = packet<Atomics, Shape.words>;
  using inbox_type = inbox<packet_type, Atomics>;

  explicit batcher(std::size_t most_held) noexcept : most_held_(most_held != 0 ? most_held : 1) {}
  batcher(const batcher&) = delete;
  batcher& operator=(const batcher&) = delete;

  /// Effects: notes that the cell `bit` of the word `key` is free. Complexity: O(1) amortised.
  template <class Route>
  [[nodiscard]] ASHLAR_INLINE batch_result add(std::uintptr_t key, std::uint64_t bit, Route route) noexcept {
    freed_word& slot = slots_[slot_of(key)];
    if (ASHLAR_UNLIKELY(slot.key != key || held_ == most_held_)) return add_slowly(slot, {key, bit}, route);
    if (ASHLAR_UNLIKELY((slot.cells & bit) != 0)) return batch_result::already_noted;
    slot.cells |= bit;
    ++held_;
    return batch_result::noted;
  }

  /// Effects: sends everything noted. Returns: false where no packet is back and some of it stays.
  /// Words for a closed inbox are dropped: their slabs are gone.
  template <class Route>
  bool flush(Route route) noexcept {
    for (freed_word& each : slots_)
      if (each.cells != 0 && !evict(each, route)) return false;
    send();
    held_ = 0;
    return true;
  }

  /// Effects: calls `f(freed_word)` for everything noted and not sent, and notes nothing any more.
  template <class F>
  void hand_over(F f) noexcept {
    if (filling_ != nullptr) {
      const std::uint32_t count = filling_->count;
      for (std::uint32_t at = 0; at < count; ++at) f(static_cast<freed_word>(filling_->words[at]));
      filling_->count = 0;
      filling_ = nullptr;
    }
    for (freed_word& each : slots_)
      if (each.cells != 0) f(each);
    for (freed_word& each : slots_) each = {};
    held_ = 0;
  }

  /// Returns: whether nothing is noted and no packet is under way.
  [[nodiscard]] bool is_idle() const noexcept {
    for (const packet_type& each : packets_)
      if (!each.is_back()) return false;
    return noted() == 0;
  }

  /// Returns: the cells noted and not sent. Complexity: O(slots and words of a packet).
  [[nodiscard]] std::size_t noted() const noexcept {
    std::size_t cells = 0;
    const std::uint32_t filled = filling_ == nullptr ? 0 : static_cast<std::uint32_t>(filling_->count);
    for (std::uint32_t at = 0; at < filled; ++at) cells += population(filling_->words[at]);
    for (const freed_word& each : slots_) cells += population(each);
    return cells;
  }

  /// Complexity: as `noted`.
  [[nodiscard]] bool invariant() const noexcept {
    for (const freed_word& each : slots_)
      if (each.cells != 0 && &each != &slots_[slot_of(each.key)]) return false;
    if (filling_ != nullptr && (!filling_->is_back() || filling_->is_full())) return false;
    return noted() <= held_ && held_ <= most_held_;
  }

private:
  [[nodiscard]] static std::size_t population(const freed_word& word) noexcept {
    return static_cast<std::size_t>(std::popcount(word.cells));
  }

  // Neighbouring words of a slab, and equal words of neighbouring slabs, get different slots.
  [[nodiscard]] static ASHLAR_INLINE std::size_t slot_of(std::uintptr_t key) noexcept {
    constexpr int shift = 64 - std::countr_zero(Shape.slots);
    return static_cast<std::size_t>((std::uint64_t{key} * 0x9E37'79B9'7F4A'7C15) >> shift);
  }

  template <class Route>
  ASHLAR_COLD batch_result add_slowly(freed_word& slot, const freed_word& word, Route route) noexcept {
    if (slot.key == word.key && (slot.cells & word.cells) != 0) return batch_result::already_noted;
    if (held_ == most_held_ && !flush(route)) return batch_result::refused;
    if (slot.cells != 0 && slot.key != word.key && !evict(slot, route)) return batch_result::refused;
    slot = {word.key, slot.cells | word.cells};
    ++held_;
    return batch_result::noted;
  }

  // Moves a word into the packet. Returns: false where none is back, and the word stays.
  template <class Route>
  [[nodiscard]] bool evict(freed_word& word, Route route) noexcept {
    inbox_type& to = route(word.key);
    if (filling_ != nullptr && to_ != &to) send();
    if (filling_ == nullptr && !open_packet(to)) return false;
    filling_->add(word);
    word = {};
    if (filling_->is_full()) send();
    return true;
  }

  [[nodiscard]] bool open_packet(inbox_type& to) noexcept {
    for (std::size_t tries = 0; tries < Shape.packets; ++tries) {
      packet_type& candidate = packets_[next_packet_];
      next_packet_ = (next_packet_ + 1) % Shape.packets;
      if (!candidate.is_back()) continue;
      candidate.count = 0;
      filling_ = &candidate;
      to_ = &to;
      return true;
    }
    return false;
  }

  void send() noexcept {
    if (filling_ == nullptr) return;
    packet_type* const full = filling_;
    filling_ = nullptr;
    full->under_way.store(1, std::memory_order_relaxed);  // published by the push
    if (!to_->push(full)) full->under_way.store(0, std::memory_order_relaxed);
  }

  freed_word slots_[Shape.slots] = {};
  std::size_t held_ = 0;  // frees noted since everything was sent
  std::size_t most_held_;
  packet_type* filling_ = nullptr;
  inbox_type* to_ = nullptr;  // where the packet being filled will go
  std::size_t next_packet_ = 0;
  packet_type packets_[Shape.packets];
};

}  // namespace ashlar::inline ASHLAR_ABI
