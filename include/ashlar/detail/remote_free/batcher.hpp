// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathers the frees of one thread into packets for the inbox of a pool.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Freed cells of one bitmap word of a slab. The key is the start of the slab plus the index of the word. The index is
/// below the size of the slab in bytes, so that the pool separates the two by a mask.
struct freed_word {
  std::uintptr_t key = 0;
  std::uint64_t cells = 0;
};

/// Carries freed words out of band: a remote free neither reads nor writes the freed cell. The taker owns a packet in
/// transit; the sender owns it at all other times.
template <class Atomics = default_atomics, std::size_t Words = 63>
struct alignas(64) packet {
  static constexpr std::size_t max_words = Words;

  typename Atomics::template plain<packet*> next = nullptr;  ///< link of the inbox
  typename Atomics::template atomic<std::uint32_t> under_way = 0;
  typename Atomics::template plain<std::uint32_t> count = 0;
  typename Atomics::template plain<freed_word> words[Words] = {};

  /// Sender's side. Returns: whether the packet belongs to the sender again.
  [[nodiscard]] bool is_back() const noexcept {
    return under_way.load(memory_order_acquire) == 0;  // pairs with give_back()
  }

  /// Sender's side. Expects: the packet is not full.
  void add(const freed_word& word) noexcept {
    const std::uint32_t at = count;
    words[at] = word;
    count = at + 1;
  }

  [[nodiscard]] bool is_full() const noexcept { return count == Words; }

  /// Taker's side. Effects: returns the packet to its sender. Expects: the taker no longer reads it.
  void give_back() noexcept {
    under_way.store(0, memory_order_release);  // pairs with is_back()
  }
};

/// Effects: takes all packets, calls `f(freed_word)` for each of their words, and returns the packets to their senders.
/// Thread safety: the caller serialises takers. Complexity: O(words).
template <class Packet, class Atomics, class F>
void drain(inbox<Packet, Atomics>& from, F f) {
  for (Packet* each = from.take_all(); each != nullptr;) {
    Packet* const next = each->next;
    const std::uint32_t count = each->count;
    for (std::uint32_t at = 0; at < count; ++at) f(static_cast<freed_word>(each->words[at]));
    each->give_back();
    each = next;
  }
}

/// The outcome of a free in a `batcher`.
enum class batch_result : std::uint8_t {
  noted,          ///< the free is noted and will be sent
  already_noted,  ///< an earlier free of the cell is still noted: a double free
  refused,        ///< all packets are in transit: the free is not noted; `hand_over` takes the noted ones
};

/// Sizes of a batcher. A batcher of the default shape takes 9.1 KiB.
struct batch_shape {
  std::size_t packets = 8;
  std::size_t words = 63;       ///< in a packet
  std::size_t slot_count = 64;  ///< a power of two: entries of the direct-mapped table
};

/// A direct-mapped table gathers frees by bitmap word of a slab, with one mask for each word. A displaced word goes
/// into a packet, and a full packet into the inbox of the pool. A batcher never touches the freed cell: its cache line
/// would travel to the freeing thread and back, which costs more than all atomics here (after Bagherzadeh et al.,
/// "BatchIt", ISMM 2024, which links the cells instead).
///
/// A batcher never waits and never allocates. The taker of a packet returns it after reading. Without a free packet a
/// free is refused, and the caller takes the slow path. After `most_held` frees the next one flushes.
///
/// Invariant: a packet is in transit, being filled (at most one), or free.
/// Thread safety: one thread. Packets in transit belong to their takers, so the batcher must live until `is_idle()`.
template <class Atomics = default_atomics, batch_shape Shape = batch_shape{}>
class batcher {
  static_assert(std::has_single_bit(Shape.slot_count) && Shape.slot_count > 1 && Shape.packets != 0);

public:
  using packet_type = packet<Atomics, Shape.words>;
  using inbox_type = inbox<packet_type, Atomics>;

  /// Expects: `to`, the inbox of the pool, outlives the batcher.
  batcher(inbox_type& to, std::size_t most_held) noexcept : most_held_(most_held != 0 ? most_held : 1), to_(to) {}
  batcher(const batcher&) = delete;
  batcher& operator=(const batcher&) = delete;

  /// Effects: notes the free of one cell, the only one in `word`. Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE batch_result add(freed_word word) noexcept {
    freed_word& slot = slots_[slot_of(word.key)];
    if (ASHLAR_UNLIKELY(slot.key != word.key || held_ >= most_held_ || (slot.cells & word.cells) != 0))
      return add_slow(word);
    slot.cells |= word.cells;
    ++held_;
    return batch_result::noted;
  }

  /// Effects: sends all noted frees. Returns: false without enough free packets; some frees then stay noted. Words for
  /// a closed inbox are dropped: their slabs no longer exist.
  bool flush() noexcept {
    for (freed_word& each : slots_)
      if (each.cells != 0 && !evict(each)) return false;
    send();
    held_ = 0;
    return true;
  }

  /// Effects: calls `f(freed_word)` for each noted word that was not sent, and forgets all of them.
  template <class F>
  void hand_over(F f) noexcept {
    if (const packet_type* const begun = std::exchange(filling_, nullptr); begun != nullptr) {
      const std::uint32_t count = begun->count;
      for (std::uint32_t at = 0; at < count; ++at) f(static_cast<freed_word>(begun->words[at]));
    }
    for (freed_word& each : slots_)
      if (each.cells != 0) f(each);
    for (freed_word& each : slots_) each = {};
    held_ = 0;
  }

  /// Returns: whether no free is noted and no packet is in transit.
  [[nodiscard]] bool is_idle() const noexcept {
    for (const packet_type& each : packets_)
      if (!each.is_back()) return false;
    return noted() == 0;
  }

  /// Returns: the cells noted and not sent. Complexity: O(slots and words of a packet).
  [[nodiscard]] std::size_t noted() const noexcept {
    std::size_t cells = 0;
    const std::uint32_t begun = filling_ == nullptr ? 0 : static_cast<std::uint32_t>(filling_->count);
    for (std::uint32_t at = 0; at < begun; ++at) cells += population(filling_->words[at]);
    for (const freed_word& each : slots_) cells += population(each);
    return cells;
  }

  /// Complexity: as `noted`.
  [[nodiscard]] bool invariant() const noexcept {
    for (const freed_word& each : slots_)
      if (each.cells != 0 && &each != &slots_[slot_of(each.key)]) return false;
    if (filling_ != nullptr && (!filling_->is_back() || filling_->is_full())) return false;
    return noted() <= held_;
  }

private:
  [[nodiscard]] static std::size_t population(const freed_word& word) noexcept { return count_bits(word.cells); }

  // Neighbouring words of a slab, and equal words of neighbouring slabs, get different slots.
  [[nodiscard]] static ASHLAR_INLINE std::size_t slot_of(std::uintptr_t key) noexcept {
    constexpr unsigned shift = 64 - log2_of(Shape.slot_count);
    return static_cast<std::size_t>((std::uint64_t{key} * 0x9E37'79B9'7F4A'7C15) >> shift);
  }

  ASHLAR_NOINLINE batch_result add_slow(freed_word word) noexcept {
    freed_word& slot = slots_[slot_of(word.key)];
    if (slot.key == word.key && (slot.cells & word.cells) != 0) return batch_result::already_noted;
    if (held_ >= most_held_ && !flush()) return batch_result::refused;
    if (slot.cells != 0 && slot.key != word.key && !evict(slot)) return batch_result::refused;
    slot = {word.key, slot.cells | word.cells};
    ++held_;
    return batch_result::noted;
  }

  // Moves a word into a packet. Returns: false without a free packet; the word then stays.
  [[nodiscard]] ASHLAR_NOINLINE bool evict(freed_word& word) noexcept {
    if (filling_ == nullptr && !open_packet()) return false;
    filling_->add(word);
    word = {};
    if (filling_->is_full()) send();
    return true;
  }

  [[nodiscard]] ASHLAR_INLINE bool open_packet() noexcept {
    for (std::size_t tries = 0; tries < Shape.packets; ++tries) {
      packet_type& candidate = packets_[next_packet_];
      next_packet_ = (next_packet_ + 1) % Shape.packets;
      if (!candidate.is_back()) continue;
      candidate.count = 0;
      filling_ = &candidate;
      return true;
    }
    return false;
  }

  ASHLAR_NOINLINE void send() noexcept {
    if (filling_ == nullptr) return;
    packet_type* const full = filling_;
    filling_ = nullptr;
    full->under_way.store(1, memory_order_relaxed);  // published by the push
    if (!to_.push(full)) full->under_way.store(0, memory_order_relaxed);
  }

  freed_word slots_[Shape.slot_count] = {};
  std::size_t held_ = 0;  // frees noted since the last complete flush or hand-over
  std::size_t most_held_;
  packet_type* filling_ = nullptr;
  inbox_type& to_;
  std::size_t next_packet_ = 0;
  packet_type packets_[Shape.packets];
};

}  // namespace ashlar::ASHLAR_ABI::detail
