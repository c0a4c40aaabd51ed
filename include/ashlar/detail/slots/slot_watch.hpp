// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Poison in the dead slots of objects at level hardened.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Effects: marks a slot as in use for memory tools; `is_raw`: without a kept object. `IsShared`: other threads may
/// mark its neighbours.
template <bool IsShared>
ASHLAR_INLINE void mark_slot(void* slot, std::size_t bytes, [[maybe_unused]] bool is_raw) noexcept {
  if constexpr (IsShared && always_marked) return mark_live_among_others(slot, bytes);
  if (is_raw) mark_live(slot, bytes);
  else mark_readable(slot, bytes);
}

/// Effects: marks a slot as free for memory tools.
template <bool IsShared>
ASHLAR_INLINE void mark_slot_free(void* slot, std::size_t bytes) noexcept {
  if constexpr (IsShared) mark_free_among_others(slot, bytes);
  else mark_free(slot, bytes);
}

/// Effects: ends the life of a slot with a destroyed object: fills it with poison at `hardened`, and marks it as free
/// for tools. A slot holds no link, so all its bytes are poison.
template <bool IsShared>
ASHLAR_INLINE void poison_slot(void* slot, std::size_t bytes) noexcept {
  if constexpr (keeps_canaries) poison_block(slot, bytes);
  mark_slot_free<IsShared>(slot, bytes);
}

/// As `poison_slot` for a slot with raw `marks`; a kept object stays unchanged.
template <bool IsShared>
ASHLAR_INLINE void retire_slot(void* slot, std::size_t bytes, std::uint32_t marks) noexcept {
  if (keeps_canaries && slot_word::is_raw(marks)) poison_block(slot, bytes);
  mark_slot_free<IsShared>(slot, bytes);
}

/// Effects: reports a write to a dead raw slot of `pool`. Expects: the slot was used before; an unused slot holds no
/// poison.
ASHLAR_INLINE void verify_slot([[maybe_unused]] const void* slot, [[maybe_unused]] std::size_t bytes,
                               [[maybe_unused]] const void* pool) noexcept {
  if constexpr (keeps_canaries) verify_poison(slot, bytes, bytes, pool);
}

}  // namespace ashlar::ASHLAR_ABI::detail
