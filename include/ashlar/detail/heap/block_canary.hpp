// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guards of a block at level hardened: a canary after a live block, poison in a free one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: the bytes that a request counts as when its size is kept.
[[nodiscard]] constexpr std::size_t at_least_one_byte(std::size_t bytes) noexcept {
  return detail::max<std::size_t>(bytes, 1);
}

/// Returns: the bytes of a request with one byte of canary; `bytes` if no canary is kept.
[[nodiscard]] constexpr std::size_t with_canary(std::size_t bytes) noexcept {
  if constexpr (!keeps_canaries) return bytes;
  else return bytes < max_size ? at_least_one_byte(bytes) + 1 : bytes;
}

/// Returns: the size class of a request, or `none` for a block that no cell can hold.
template <class Classes = size_classes>
[[nodiscard]] ASHLAR_INLINE constexpr std::size_t class_of_request(std::size_t bytes, std::size_t alignment) noexcept {
  if (ASHLAR_UNLIKELY(with_canary(bytes) > Classes::largest)) return Classes::none;
  if (ASHLAR_LIKELY(alignment <= Classes::granule)) return Classes::of(with_canary(bytes));
  return alignment <= Classes::largest ? Classes::of(with_canary(bytes), alignment) : Classes::none;
}

/// Marks of a cell without a requested size, in the two bytes of that size.
inline constexpr std::uint16_t never_used = 0;  ///< or its pages were decommitted
inline constexpr std::uint16_t dead_cell = 0xFFFF;
/// Between two of the others: nothing is known of the contents. A forked child keeps it if the thread is another one.
inline constexpr std::uint16_t changing_cell = 0xFFFE;

/// Returns: whether the two bytes are the requested size of a live cell.
[[nodiscard]] ASHLAR_INLINE constexpr bool is_requested_size(std::uint16_t mark) noexcept {
  return static_cast<std::uint16_t>(mark - 1) < changing_cell - 1;
}
/// Returns: whether they are the mark of a free cell.
[[nodiscard]] ASHLAR_INLINE constexpr bool is_free_mark(std::uint16_t mark) noexcept {
  return mark == never_used || mark == dead_cell;
}

/// A cell, and the place of its requested size; no cell: `data` is null.
struct sized_cell {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  atomic<std::uint16_t>* size = nullptr;  ///< the sizes of its neighbours lie beside it

  /// @{ Effects: begins or ends a change of the contents: a fork in between, by another thread, sees that there is one.
  ASHLAR_INLINE void begin_change() const noexcept {
    size->store(changing_cell, memory_order_relaxed);
    atomic_signal_fence();
  }
  ASHLAR_INLINE void end_change(std::size_t mark) const noexcept {
    size->store(static_cast<std::uint16_t>(mark), memory_order_release);  // with the checks of a neighbour
  }
  /// @}
};

/// Bytes of a spare extent that hold poison.
inline constexpr std::size_t most_poisoned = 4096;
/// Bytes of a free cell or span that hold poison at most; a cell is poisoned whole.
inline constexpr std::size_t most_poisoned_of_span = std::size_t{512} << 10;

/// Effects: reports a free block of `held` bytes with other contents than poison in its first `bytes` bytes. Tools take
/// these bytes for live afterwards.
inline void verify_block_poison(const void* p, std::size_t bytes, std::size_t held, const void* heap) noexcept {
  verify_poison(p, bytes, held, heap);
  mark_live(p, bytes);
}

/// Effects: fills free memory.
ASHLAR_INLINE void fill_free(void* p, std::size_t bytes, unsigned char with) noexcept {
  mark_readable(p, bytes);
  std::memset(p, with, bytes);
}

/// Effects: as `verify_block_poison`, for a cell that was filled as a whole.
ASHLAR_INLINE void verify_free(const void* cell, std::size_t bytes, unsigned char with, const void* heap) noexcept {
  mark_readable(cell, bytes);
  if (ASHLAR_UNLIKELY(!is_filled(cell, bytes, with))) report_poison(cell, bytes, heap);
  mark_live(cell, bytes);
}

/// Returns: whether the byte before a cell is that with which the cell in front of it ends, of mark `before`: poison if
/// it is dead, canary if it is live.
[[nodiscard]] ASHLAR_INLINE bool is_guard_before(const void* p, std::uint16_t before) noexcept {
  if (before != dead_cell) return !is_requested_size(before) || is_canary_before(p);
  const auto* const front = static_cast<const unsigned char*>(p) - 1;
  mark_readable(front, 1);
  const bool is_intact = *front == poison_byte;
  mark_free(front, 1);
  return is_intact;
}

/// Returns: whether the canary after the first `bytes` bytes of a block, up to `end`, is intact.
[[nodiscard]] ASHLAR_INLINE bool is_canary_whole(const void* p, std::size_t bytes, std::size_t end) noexcept {
  return is_guard_intact(static_cast<const std::byte*>(p) + bytes, end - bytes);
}

/// Effects: writes the canary after the first `bytes` bytes of a block, up to `end`; nothing if no canary is kept.
inline void write_canary(void* p, std::size_t bytes, std::size_t end) noexcept {
  if constexpr (keeps_canaries) {
    auto* const data = static_cast<std::byte*>(p);
    mark_readable(data + bytes, end - bytes);
    fill_canary(data + bytes, data + end);
  }
}

/// Effects: marks the first `bytes` bytes of a block of `held` bytes as the caller's for tools; the first `were` of
/// them already have contents.
ASHLAR_INLINE void mark_block(const void* p, std::size_t were, std::size_t bytes, std::size_t held) noexcept {
  const auto* const data = static_cast<const std::byte*>(p);
  if (bytes > were) mark_live(data + were, bytes - were);
  mark_free(data + bytes, held - bytes);
}

/// Effects: reports a write after a live block of `bytes` bytes, before `end`.
[[noreturn]] ASHLAR_COLD inline void report_overflow(const void* p, std::size_t bytes, std::size_t end,
                                                     const void* heap) noexcept {
  report_write_behind(p, bytes, bytes, bytes + guard_damage(static_cast<const std::byte*>(p) + bytes, end - bytes),
                      heap);
}

/// Effects: reports a damaged canary, as above.
inline void expect_canary(const void* p, std::size_t bytes, std::size_t end, const void* heap) noexcept {
  if (ASHLAR_UNLIKELY(!is_canary_whole(p, bytes, end))) report_overflow(p, bytes, end, heap);
}

}  // namespace ashlar::ASHLAR_ABI::detail
