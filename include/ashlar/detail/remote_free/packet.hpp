// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A packet: what one thread freed, on its way to whoever owns the slabs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/remote_free/inbox.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Freed cells of one word of a slab's bitmap. The key is the start of the slab plus the number of the word, which is
/// always below the size of the slab: the owner of the slabs takes the two apart by a mask.
struct freed_word {
  std::uintptr_t key = 0;
  std::uint64_t cells = 0;
};

/// Carries freed words out of band: no dead cell is written or read on the way.
/// It belongs to its sender while it is not under way, and to the taker while it is.
template <class Atomics = std_atomics, std::size_t Words = 63>
struct alignas(64) packet {
  static constexpr std::size_t max_words = Words;

  typename Atomics::template plain<packet*> next = nullptr;  ///< the inbox's
  typename Atomics::template atomic<std::uint32_t> under_way = 0;
  typename Atomics::template plain<std::uint32_t> count = 0;
  typename Atomics::template plain<freed_word> words[Words] = {};

  /// Sender's side. Returns: whether the packet is the sender's again.
  [[nodiscard]] bool is_back() const noexcept {
    return under_way.load(std::memory_order_acquire) == 0;  // pairs with give_back()
  }

  /// Sender's side. Expects: room is left.
  void add(const freed_word& word) noexcept {
    const std::uint32_t at = count;
    words[at] = word;
    count = at + 1;
  }

  [[nodiscard]] bool is_full() const noexcept { return count == Words; }

  /// Taker's side. Effects: leaves the packet to its sender. Expects: nothing of it is read any more.
  void give_back() noexcept {
    under_way.store(0, std::memory_order_release);  // pairs with is_back()
  }
};

/// Effects: takes all packets, calls `f(freed_word)` for each of their words, and gives the packets back.
/// Thread safety: takers are serialised by the caller. Complexity: O(words).
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

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
