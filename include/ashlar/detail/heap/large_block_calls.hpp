// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of an engine for blocks above cells: spans, and huge blocks.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/heap/unlocked_calls.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Calls of the `Engine` that derives from it. Those in `[ ]` begin with the scope of `Sharing::enter`:
///
///     take_free_span        a freed span, whole: of the thread cache, or of the bins if one thread uses the heap
///      +- [ take_large ]    one of the bins, a part of one, a new one; a huge block
///     put_span              onto the list of its length
///      +- [ put_locked ]    where the cache is full, or a purge is due
///
/// `take_free_span` and `put_span` need no stack frame: slow calls are jumps. Thread safety: the owner.
template <class Engine>
class large_block_calls {
public:
  /// Returns: a free span for a block above cells, or null. Where parcels travel, without the lock; otherwise the
  /// call that needs one holds it. Complexity: O(1).
  [[nodiscard]] ASHLAR_INLINE std::byte* take_free_span(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes <= size_classes::largest) return nullptr;
    if constexpr (Engine::sends) {
      std::byte* p = self().stores_.take_cached_run(bytes, alignment);
      if (ASHLAR_UNLIKELY(p == nullptr)) return nullptr;
      p = after_arrivals(p);
      ASHLAR_ASSUME(p != nullptr);
      return p;
    } else if constexpr (!Engine::owner_skips_lock && checking_level < checking::hardened) {
      return self().stores_.take_binned_run(bytes, alignment);
    }
    return nullptr;
  }

  /// Returns: any span or huge block, or null. Expects: `take_free_span` has found none. `is_shared`: it is a huge
  /// block, whose memory the system gives without the lock; nothing of the owner is touched. Thread safety: then any
  /// thread.
  [[nodiscard]] ASHLAR_COLD slice_run take_large(std::size_t bytes, std::size_t alignment,
                                                 bool is_shared = false) noexcept {
    if (!is_shared) static_cast<void>(after_arrivals(nullptr));
    auto& stores = self().stores_;
    const auto in = self().sharing_.lock_cold();
    slice_run got = stores.take_large(with_canary(bytes), alignment);
    if (ASHLAR_UNLIKELY(got.data == nullptr) && !is_shared)
      got = self().sharing_.drain_inbox(stores).take_large_retry(with_canary(bytes), alignment);
    if constexpr (checking_level >= checking::hardened)
      if (got.data != nullptr) stores.sizes().hand_out_large(got.data, bytes);
    return got;
  }

  /// Returns: the calls of the upstream, which are made under the lock unless that is shared with them.
  [[nodiscard]] constexpr unlocked_calls& unlocked() noexcept { return static_cast<Engine&>(*this).stores_.unlocked(); }

protected:
  large_block_calls() = default;
  ~large_block_calls() = default;

  [[nodiscard]] slice_run take_any_large(std::size_t bytes, std::size_t alignment, bool is_shared) noexcept {
    std::byte* const p = take_free_span(bytes, alignment);
    return p != nullptr ? slice_run{p, false} : take_large(bytes, alignment, is_shared);
  }

  ASHLAR_INLINE void put_span(void* p) noexcept {
    if constexpr (Engine::sends) {
      if (ASHLAR_LIKELY(self().stores_.cache_run(p))) return;
    } else if constexpr (!Engine::owner_skips_lock) {
      if (ASHLAR_LIKELY(self().stores_.bin_run(p))) return;
    }
    put_locked(p, size_classes::none);
  }

  // Effects: takes back a span or a huge block; counts a cell at a sampled address, which is in its free list.
  ASHLAR_COLD void put_locked(void* p, std::size_t size_class) noexcept {
    auto& stores = self().stores_;
    if (size_class != size_classes::none) self().sharing_.count_slow();
    const auto in = self().sharing_.lock_cold();
    if (size_class == size_classes::none) is_aligned(p, window_bytes) ? stores.give_huge(p) : stores.give_run(p);
    else Engine::has_no_links ? stores.give_sampled(p, size_class) : stores.count_freed(size_class);
  }

private:
  [[nodiscard]] ASHLAR_INLINE Engine& self() noexcept { return static_cast<Engine&>(*this); }

  // Returns: `p`, after the call is counted and waiting parcels are unpacked, so that their memory serves the next
  // requests.
  [[nodiscard]] ASHLAR_INLINE std::byte* after_arrivals(std::byte* p) noexcept {
    if constexpr (!Engine::sends) return p;
    else return ASHLAR_UNLIKELY(self().sharing_.has_arrivals()) ? unpacked(p) : self().sharing_.count_slow(p);
  }
  [[nodiscard]] ASHLAR_COLD std::byte* unpacked(std::byte* p) noexcept {
    static_cast<void>(self().sharing_.take_arrived(self().stores_, size_classes::none));  // no cell has this class
    return p;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
