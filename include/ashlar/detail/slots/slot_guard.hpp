// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard bytes between the slots of objects at level hardened.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/watched_slack.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The guards of slots for objects of `Bytes` bytes, as the guards of cells in `cell_guard.hpp`:
///
///     | front guard | object 0 | guard | object 1 | guard | ...          at `hardened`
///     | object 0 | object 1 | ...                                       below
///
/// A slot's guard is written when the slot is first handed out, and the front guard with the first slot. Slots are
/// first handed out in order of addresses, so both neighbours of a live object are guards. Guards stay as long as the
/// memory, whether objects are destroyed or kept. Calls expect `keeps_canaries`: without it there are no guards to
/// verify. Thread safety: `begin` one thread at a time; `expect` any thread to which the slot was handed out.
template <std::size_t Bytes, std::size_t Alignment>
struct slot_guard {
  static constexpr std::size_t stride = align_up(Bytes + least_guard, Alignment);     ///< from slot to slot
  static constexpr std::size_t bytes = has_guards ? stride - Bytes : std::size_t{0};  ///< after each object

  /// Effects: writes the guard of a slot that is handed out for the first time.
  static void begin(void* slot, bool is_first) noexcept {
    auto* const object = static_cast<std::byte*>(slot);
    if (is_first) fill_guard(object - front_guard, front_guard);
    fill_guard(object + Bytes, bytes);
  }

  /// Effects: reports writes after the object in a slot and in front of it; `pool` may be null. In front, only the
  /// last byte of the guard is verified: earlier ones are the overflow of the previous slot. Expects: the slot was
  /// handed out.
  static ASHLAR_INLINE void expect(const void* slot, const void* pool) noexcept {
    const auto* const object = static_cast<const std::byte*>(slot);
    if (ASHLAR_UNLIKELY(!is_guard_intact(object - 1, 1))) report_write_before(object, Bytes, pool);
    if (ASHLAR_UNLIKELY(!is_guard_intact(object + Bytes, bytes)))
      report_overflow_into_guard(object, Bytes, bytes, Bytes, pool);
  }

  /// As `expect`, for the first `count` slots, free ones too. Complexity: O(count).
  static void expect_all(const void* first_slot, std::uint32_t count, const void* pool) noexcept {
    for (std::size_t at = 0; at < count; ++at) expect(static_cast<const std::byte*>(first_slot) + at * stride, pool);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
