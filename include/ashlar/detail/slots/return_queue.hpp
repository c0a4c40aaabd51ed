// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The queue in which slots return to a pool from any thread, and the count that frees a pool which its objects outlive.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_inbox.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Lies in memory that outlives the pool's handle, and is freed by exactly one thread:
///
///     while the pool lives   give(): a push into the inbox, after which the caller touches nothing
///     the handle ends        close(), then abandon(number of outstanding slots)
///     after the close        give(): the push is refused, the slot counts as returned
///
/// `outstanding_` is the number of outstanding slots, less those returned before `abandon` set that number; modulo
/// 2^32, since there are fewer than 2^30 slots. Exactly one addition or subtraction brings it to 0: its thread is alone
/// and frees the memory. No lock is needed, and no thread waits.
///
/// Thread safety: `give` any thread; the others by the handle's owner, one at a time.
template <class Atomics = default_atomics>
class return_queue {
public:
  /// Effects: gives a slot back; `marks` as for `slot_stack::give`. Expects: the slot belongs to the caller. Returns:
  /// whether all slots are back and the pool has ended: then the caller frees the memory that contains this queue.
  /// After false, that memory may be freed already.
  [[nodiscard]] ASHLAR_INLINE bool give(std::uint32_t number, std::uint32_t marks,
                                        shared_slot_word<Atomics>& word) noexcept {
    if (ASHLAR_LIKELY(inbox_.push(number, marks, word))) return false;
    return give_late();
  }

  /// Returns: as `slot_inbox::take_all`.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_all() noexcept { return inbox_.take_all(); }

  /// Effects: refuses slots from now on; `abandon` accounts for the refused ones. Returns: the chain of the slots that
  /// arrived before.
  [[nodiscard]] std::uint32_t close() noexcept { return inbox_.close(); }

  /// Effects: sets the number of outstanding slots: all that are neither free nor in the chain of `close`. Returns: as
  /// `give`. Expects: closed; no more slots are taken.
  [[nodiscard]] bool abandon(std::uint32_t out) noexcept {
    // Pairs with give_late(), both ways: the freeing thread sees the writes of the others to objects and pool.
    return outstanding_.fetch_add(out, memory_order_acq_rel) + out == 0;
  }

private:
  [[nodiscard]] ASHLAR_COLD bool give_late() noexcept {
    return outstanding_.fetch_sub(1, memory_order_acq_rel) == 1;  // pairs with itself and with abandon()
  }

  slot_inbox<Atomics> inbox_;
  typename Atomics::template atomic<std::uint32_t> outstanding_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
