// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of blocks on pages of their own between inaccessible pages: a sample of all allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/page_map.hpp>

#include "malloc/call_stack.hpp"

namespace ashlar::drop_in {

/// One block and its two stacks.
struct guarded_block {
  enum class state : std::uint8_t { unused, live, freed };

  std::byte* start;
  std::size_t bytes;  ///< as requested
  state is;
  call_stack allocated, freed;
};

/// What a caller does with a block, for the reports of one that is none.
enum class guarded_use : std::uint8_t { frees, asks_size, resizes };

/// Slots in one window of address space, each a page between inaccessible pages. The window begins with what the fast
/// path of a free reads of a segment: a head whose owner is no thread's heap, so that the free reaches the slow path.
///
///     | head 2 pages | blocks .. 64 KiB | guard | slot 0 | guard | slot 1 | guard | …              4 MiB |
///
/// A block lies at the right or the left end of its page; canary fills the rest. A free discards the page, which is
/// inaccessible until the slot is used again: the one that has been free for the longest time is next. The window is
/// reserved by the first sample. Thread safety: any thread; a fork waits for the lock.
class guard_pool {
public:
  static constexpr std::size_t most_slots = 64;

  /// Returns: whether the address lies in the window of the pool. Relaxed: an address in it comes from `take`, and the
  /// caller has it in an order of its own; for any other address each answer is right.
  [[nodiscard]] static ASHLAR_INLINE bool has(const void* p) noexcept {
    return ASHLAR_UNLIKELY(ashlar::address_of(p) - start_.load(detail::memory_order_relaxed) < detail::window_bytes);
  }

  /// Returns: a block of zeros, or null: without a free slot, beyond a page, or if another thread is inside.
  [[nodiscard]] static void* take(std::size_t bytes, std::size_t alignment, const caller_frame& caller) noexcept;

  /// Effects: frees a block; reports what is none, and writes beside it. Expects: `has(p)`.
  static void give(void* p, const caller_frame& caller) noexcept;

  /// Returns: the requested bytes of a block. Reports what is none as a wrong `use`. Expects: `has(p)`.
  [[nodiscard]] static std::size_t bytes_of(const void* p, guarded_use use) noexcept;

  /// Effects: calls `f(p, bytes)` for each live block, without the lock.
  template <class F>
  static void for_each_live(F f) {
    for (std::size_t slot = 0; slot < most_slots; ++slot)
      if (const std::span<std::byte> each = live_at(slot); !each.empty())
        f(static_cast<void*>(each.data()), each.size());
  }

  /// Returns: a copy of the block whose page, or guard beside it, has the address; an unused one for none.
  /// Async-signal-safe: for the thread that the address has interrupted. If that holds the lock itself, after 20 ms
  /// without the lock.
  [[nodiscard]] static guarded_block block_near(const void* p) noexcept;

private:
  [[nodiscard]] static std::span<std::byte> live_at(std::size_t slot) noexcept;

  // Relaxed: under the lock, or of the window's own blocks.
  [[nodiscard]] static bool is_made() noexcept { return start_.load(detail::memory_order_relaxed) != far_; }

  // Far from all addresses, null included, until there is a window.
  static constexpr std::uintptr_t far_ = std::uintptr_t{1} << 63;
  static constinit inline detail::atomic<std::uintptr_t> start_ = far_;
  friend struct guard_window;
};

}  // namespace ashlar::drop_in
