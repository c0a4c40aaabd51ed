// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots on their way home: any thread gives one back, the pool takes them all.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// As `inbox`, with numbers for pointers and the slots' own words for links, so the object in a slot is not touched.
///
/// The word of a slot is its giver's alone until the push; whoever takes the chain has all words of it. A push needs
/// only that the head still is the number it linked to, so there is no ABA, and no state in between is ever visible.
/// Every change of the head is a read-modify-write: one acquiring exchange synchronises with all pushes below it.
///
/// Thread safety: any thread pushes, lock-free; takers and closers are serialised by the caller, and wait-free.
template <class Atomics = default_atomics>
class slot_inbox {
public:
  constexpr slot_inbox() noexcept = default;
  slot_inbox(const slot_inbox&) = delete;
  slot_inbox& operator=(const slot_inbox&) = delete;

  /// Effects: adds a slot; `marks` as for `slot_stack::give`. Returns: false where the inbox is closed: then nothing
  /// was added. Expects: the slot is the caller's.
  [[nodiscard]] ASHLAR_INLINE bool push(std::uint32_t number, std::uint32_t marks,
                                        shared_slot_word<Atomics>& word) noexcept {
    std::uint32_t head = head_.load(memory_order_relaxed);  // only compared, never followed
    do {
      if (ASHLAR_UNLIKELY(head == slot_word::closed)) return false;
      word.store(slot_word::free_mark | marks | head);
    } while (!head_.compare_exchange_weak(head, number, memory_order_release,  // pairs with take_all() and close()
                                          memory_order_relaxed));
    return true;
  }

  /// Returns: the first of a chain of all slots that arrived, the latest first; `none` where there are none.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_all() noexcept {
    const std::uint32_t seen = head_.load(memory_order_relaxed);
    if (seen == slot_word::none || seen == slot_word::closed) return slot_word::none;
    return head_.exchange(slot_word::none, memory_order_acquire);  // pairs with push()
  }

  /// Effects: refuses all pushes from now on. Returns: as `take_all`.
  [[nodiscard]] std::uint32_t close() noexcept {
    const std::uint32_t all = head_.exchange(slot_word::closed, memory_order_acquire);  // pairs with push()
    return all == slot_word::closed ? slot_word::none : all;
  }

  /// Returns: whether nothing was there a moment ago.
  [[nodiscard]] bool is_empty() const noexcept { return head_.load(memory_order_relaxed) == slot_word::none; }
  [[nodiscard]] bool is_closed() const noexcept { return head_.load(memory_order_relaxed) == slot_word::closed; }

private:
  typename Atomics::template atomic<std::uint32_t> head_ = slot_word::none;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
