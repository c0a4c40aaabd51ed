// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The queue in which slots return to a pool from any thread, and the count that frees a pool which its objects outlive.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_inbox.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Lies in memory that outlives the pool's handle, and is freed by exactly one thread:
///
///   while the pool lives   give(): a push into the inbox, behind which the giver touches nothing
///   the handle ends        close(), then abandon(how many slots are out still)
///   behind the close       give(): the push is refused, the slot is counted as returned
///
/// `outstanding_` is how many slots are out still, minus those that returned before `abandon` said how many there are;
/// modulo 2^32, since there are fewer than 2^30 slots. So it comes to 0 by an addition or a subtraction exactly once:
/// whoever does that is alone and frees the memory. No lock is needed, and nobody waits.
///
/// Thread safety: `give` any thread; the others by the handle's owner, one at a time.
template <class Atomics = default_atomics>
class return_queue {
public:
  /// Effects: gives a slot back; `marks` as for `slot_stack::give`. Expects: the slot is the caller's.
  /// Returns: whether all has come home and the pool is gone: then the caller frees the memory, which this lies in.
  /// Where false, that may be gone already.
  [[nodiscard]] ASHLAR_INLINE bool give(std::uint32_t number, std::uint32_t marks,
                                        shared_slot_word<Atomics>& word) noexcept {
    if (ASHLAR_LIKELY(inbox_.push(number, marks, word))) return false;
    return give_late();
  }

  /// Returns: as `slot_inbox::take_all`.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_all() noexcept { return inbox_.take_all(); }

  /// Effects: refuses slots from now on; from each giver that is refused `abandon` will hear.
  /// Returns: the chain of those that came in time.
  [[nodiscard]] std::uint32_t close() noexcept { return inbox_.close(); }

  /// Effects: says how many slots are out, all that are not free or in the chain of `close`.
  /// Returns: as `give`. Expects: closed; nobody takes slots any more.
  [[nodiscard]] bool abandon(std::uint32_t out) noexcept {
    // Pairs with give_late(), both ways: the thread that frees sees the writes of the others to objects and pool.
    return outstanding_.fetch_add(out, memory_order_acq_rel) + out == 0;
  }

private:
  [[nodiscard]] ASHLAR_COLD bool give_late() noexcept {
    return outstanding_.fetch_sub(1, memory_order_acq_rel) == 1;  // pairs with itself and with abandon()
  }

  slot_inbox<Atomics> inbox_;
  typename Atomics::template atomic<std::uint32_t> outstanding_ = 0;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
