// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A packet: a batch of remote frees on its way to the pool of their slabs.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/remote_free/inbox.hpp>
#include <ashlar/detail/support/atomics.hpp>

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

}  // namespace ashlar::ASHLAR_ABI::detail
