// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathers the frees of one thread into packets for the owners of the slabs: those of a pool have one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/remote_free/inbox.hpp>
#include <ashlar/detail/remote_free/packet.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The outcome of a free in a `batcher`.
enum class batch_result : std::uint8_t {
  noted,          ///< the free is noted and will be sent
  already_noted,  ///< an earlier free of the cell is still noted: a double free
  refused,        ///< all packets are in transit: the free is not noted; `hand_over` takes the noted ones
};

/// Sizes of a batcher. A batcher of the default shape takes 9.2 KiB.
struct batch_shape {
  std::size_t packets = 8;
  std::size_t words = 63;       ///< in a packet
  std::size_t slot_count = 64;  ///< a power of two: entries of the direct-mapped table
};

/// A direct-mapped table gathers frees by bitmap word of a slab, with one mask for each word. A displaced word goes
/// into a packet, and a full packet into the inbox of the slab's owner. A batcher never touches the freed cell: its
/// cache line would travel to the freeing thread and back, which costs more than all atomics here (after Bagherzadeh et
/// al., "BatchIt", ISMM 2024, which links the cells instead).
///
/// A batcher never waits and never allocates. The taker of a packet returns it after reading. Without a free packet a
/// free is refused, and the caller takes the slow path. `Route` is a callable: `route(key)` is the inbox of the slab's
/// owner. Frees have weights, usually bytes; once the noted ones weigh at least `most_held`, the next free flushes.
///
/// Invariant: a packet is in transit, being filled (at most one for an owner, and fewer than half of all), or free.
/// Thread safety: one thread. Packets in transit belong to their takers, so the batcher must live until `is_idle()`.
template <class Atomics = default_atomics, batch_shape Shape = batch_shape{}>
class batcher {
  static_assert(std::has_single_bit(Shape.slot_count) && Shape.slot_count > 1 && Shape.packets != 0);

public:
  using packet_type = packet<Atomics, Shape.words>;
  using inbox_type = inbox<packet_type, Atomics>;

  explicit batcher(std::size_t most_held) noexcept : most_held_(most_held != 0 ? most_held : 1) {}
  batcher(const batcher&) = delete;
  batcher& operator=(const batcher&) = delete;

  /// Effects: notes that the cell `bit` of the bitmap word `key` is free. Expects: `weight` is not 0.
  /// Complexity: O(1) amortised.
  template <class Route>
  [[nodiscard]] ASHLAR_INLINE batch_result add(std::uintptr_t key, std::uint64_t bit, Route route,
                                               std::size_t weight = 1) noexcept {
    const freed_word word{key, bit};
    return ASHLAR_LIKELY(try_add(word, weight)) ? batch_result::noted : add_slow(word, weight, route);
  }

  /// The fast path of `add`. Returns: false if a word has to move first, or the cell is noted already.
  [[nodiscard]] ASHLAR_INLINE bool try_add(const freed_word& word, std::size_t weight) noexcept {
    freed_word& slot = slots_[slot_of(word.key)];
    if (ASHLAR_UNLIKELY(slot.key != word.key || held_ >= most_held_ || (slot.cells & word.cells) != 0)) return false;
    slot.cells |= word.cells;
    held_ += weight;
    return true;
  }

  /// Effects: sends all noted frees. Returns: false without enough free packets; some frees then stay noted. Words for
  /// a closed inbox are dropped: their slabs no longer exist.
  template <class Route>
  bool flush(Route route) noexcept {
    for (freed_word& each : slots_)
      if (each.cells != 0 && !evict(each, route)) return false;
    send();
    send_begun();
    held_ = 0;
    return true;
  }

  /// Effects: calls `f(freed_word)` for each noted word that was not sent, and forgets all of them.
  template <class F>
  void hand_over(F f) noexcept {
    hand_over_packet(f);
    for (begun& each : begun_) filling_ = std::exchange(each.filled, nullptr), hand_over_packet(f);
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
    const auto count = [&](const packet_type* each) {
      const std::uint32_t filled = each == nullptr ? 0 : static_cast<std::uint32_t>(each->count);
      for (std::uint32_t at = 0; at < filled; ++at) cells += population(each->words[at]);
    };
    count(filling_);
    for (const begun& each : begun_) count(each.filled);
    for (const freed_word& each : slots_) cells += population(each);
    return cells;
  }

  /// Returns: the weight of all frees noted since the last complete flush or hand-over.
  [[nodiscard]] std::size_t held() const noexcept { return held_; }

  /// Complexity: as `noted`.
  [[nodiscard]] bool invariant() const noexcept {
    for (const freed_word& each : slots_)
      if (each.cells != 0 && &each != &slots_[slot_of(each.key)]) return false;
    if (filling_ != nullptr && (!filling_->is_back() || filling_->is_full())) return false;
    for (const begun& each : begun_)
      if (each.filled != nullptr && (!each.filled->is_back() || each.filled->is_full() || each.filled == filling_))
        return false;
    return noted() <= held_;
  }

private:
  // Partly filled packets for other owners, set aside.
  static constexpr std::size_t most_begun = Shape.packets < 4 ? 0 : Shape.packets / 2 - 1;
  struct begun {
    packet_type* filled = nullptr;
    inbox_type* to = nullptr;
  };

  [[nodiscard]] static std::size_t population(const freed_word& word) noexcept { return count_bits(word.cells); }

  // Neighbouring words of a slab, and equal words of neighbouring slabs, get different slots.
  [[nodiscard]] static ASHLAR_INLINE std::size_t slot_of(std::uintptr_t key) noexcept {
    constexpr unsigned shift = 64 - log2_of(Shape.slot_count);
    return static_cast<std::size_t>((std::uint64_t{key} * 0x9E37'79B9'7F4A'7C15) >> shift);
  }

  template <class Route>
  ASHLAR_NOINLINE batch_result add_slow(const freed_word& word, std::size_t weight, Route route) noexcept {
    freed_word& slot = slots_[slot_of(word.key)];
    if (slot.key == word.key && (slot.cells & word.cells) != 0) return batch_result::already_noted;
    if (held_ >= most_held_ && !flush(route)) return batch_result::refused;
    if (slot.cells != 0 && slot.key != word.key && !evict(slot, route)) return batch_result::refused;
    slot = {word.key, slot.cells | word.cells};
    held_ += weight;
    return batch_result::noted;
  }

  // Moves a word into a packet. Returns: false without a free packet; the word then stays.
  template <class Route>
  [[nodiscard]] bool evict(freed_word& word, Route route) noexcept {
    inbox_type& to = route(word.key);
    if (to_ != &to) turn_to(to);
    if (filling_ == nullptr && !open_packet(to)) return false;
    filling_->add(word);
    word = {};
    if (filling_->is_full()) send();
    return true;
  }

  // Switches to the packet of another owner and sets the current one aside. Without that, alternating frees of a few
  // owners would send packets of one or two words.
  void turn_to(inbox_type& to) noexcept {
    begun* place = nullptr;
    for (begun& each : begun_)
      if (each.filled == nullptr ? place == nullptr : each.to == &to) place = &each;
    if (place == nullptr && filling_ == nullptr) return;
    if (place == nullptr && most_begun != 0) place = &begun_[next_begun_++ % most_begun];
    if (place != nullptr) std::swap(filling_, place->filled), std::swap(to_, place->to);
    if (to_ != &to) send();
  }

  template <class F>
  ASHLAR_NOINLINE void hand_over_packet(F& f) noexcept {
    if (filling_ != nullptr) {
      const std::uint32_t count = filling_->count;
      for (std::uint32_t at = 0; at < count; ++at) f(static_cast<freed_word>(filling_->words[at]));
      filling_->count = 0;
      filling_ = nullptr;
    }
  }

  ASHLAR_COLD void send_begun() noexcept {
    for (begun& each : begun_) {
      filling_ = std::exchange(each.filled, nullptr);
      to_ = each.to;
      send();
    }
  }

  [[nodiscard]] bool is_begun(const packet_type& which) const noexcept {
    for (const begun& each : begun_)
      if (each.filled == &which) return true;
    return false;
  }

  [[nodiscard]] ASHLAR_COLD bool open_packet(inbox_type& to) noexcept {
    for (std::size_t tries = 0; tries < Shape.packets; ++tries) {
      packet_type& candidate = packets_[next_packet_];
      next_packet_ = (next_packet_ + 1) % Shape.packets;
      if (!candidate.is_back()) continue;
      if (is_begun(candidate)) continue;
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
    full->under_way.store(1, memory_order_relaxed);  // published by the push
    if (!to_->push(full)) full->under_way.store(0, memory_order_relaxed);
  }

  freed_word slots_[Shape.slot_count] = {};
  std::size_t held_ = 0;  // the weight noted since the last complete flush or hand-over
  std::size_t most_held_;
  packet_type* filling_ = nullptr;
  inbox_type* to_ = nullptr;  // destination of the packet being filled
  std::size_t next_packet_ = 0;
  std::array<begun, most_begun> begun_ = {};
  std::size_t next_begun_ = 0;  // index in begun_ to displace next
  packet_type packets_[Shape.packets];
};

}  // namespace ashlar::ASHLAR_ABI::detail
