// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots in transit: any thread gives one back, the pool takes all.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// As `inbox`, with numbers for pointers and the slots' own words for links, so that the object in a slot stays
/// untouched.
///
/// The word of a slot belongs to its giver until the push, and afterwards to the taker of the chain. A push needs only
/// an unchanged head, so ABA is harmless; no intermediate state is visible. Every change of the head is a
/// read-modify-write: one acquiring exchange synchronises with all pushes below it.
///
/// Thread safety: any thread pushes, lock-free; the caller serialises takers and closers, which are wait-free.
template <class Atomics = default_atomics>
class slot_inbox {
public:
  constexpr slot_inbox() noexcept = default;
  slot_inbox(const slot_inbox&) = delete;
  slot_inbox& operator=(const slot_inbox&) = delete;

  /// Effects: adds a slot; `marks` as for `slot_stack::give`. Returns: false if the inbox is closed; the slot is then
  /// not added. Expects: the slot belongs to the caller.
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

  /// Returns: the first of a chain of all arrived slots, the latest first; `none` if there are none.
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

  /// Returns: whether the inbox was empty at the load.
  [[nodiscard]] bool is_empty() const noexcept { return head_.load(memory_order_relaxed) == slot_word::none; }
  [[nodiscard]] bool is_closed() const noexcept { return head_.load(memory_order_relaxed) == slot_word::closed; }

private:
  typename Atomics::template atomic<std::uint32_t> head_ = slot_word::none;
};

}  // namespace ashlar::ASHLAR_ABI::detail
