// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of an engine for blocks above cells: spans, and huge blocks.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The checked calls of an engine whose owner needs no lock: an address alone leads to the owner of a block. From level
/// `checked` on, as calls of the `Engine` that derives from it:
///
///     free of p --> the segment of p is the caller's: try_put_own     live -> free list, without a lock
///               `-> otherwise: [ put_checked ]                        every check, report
///                     +- of the caller: onto a free list, or into the bitmap
///                     +- of another thread: into the bitmap
///
/// The lock of the engine guards all checks but the checks of a cell that is live for its owner. At level `hardened` a
/// cell also has its size and intact guards, and waits for its bitmap instead of a free list. The owner alone looks at
/// the cells beside a block: it hands them out without the lock.
template <class Engine>
class owner_checks {
public:
  /// Effects: frees a live cell. Returns: false, without an effect, for all else and for cells at sampled addresses.
  /// Expects: `p` lies in a segment of this engine. Thread safety: the owner.
  [[nodiscard]] ASHLAR_INLINE bool try_put_own(void* p) noexcept {
    return try_put_own(p, any_size, segment::size_class_of(p));
  }
  /// As above, only of the class, and at level `hardened` of the size.
  [[nodiscard]] ASHLAR_INLINE bool try_put_own(void* p, std::size_t bytes, std::size_t size_class) noexcept {
    if (ASHLAR_UNLIKELY(is_sampled(p))) return false;
    if (const auto check = self().stores_.checks();
        ASHLAR_UNLIKELY(!check || !check->ends_own_small(p, bytes, size_class)))
      return false;
    self().cache_cell(p, size_class);
    return true;
  }
  /// As `try_put_own` of any size, with a call for larger cells at level `hardened`; false at others.
  [[nodiscard]] bool try_put_larger(void* p) noexcept {
    if constexpr (!Engine::has_no_links) return false;
    const std::size_t size_class = segment::size_class_of(p);
    if (is_sampled(p) || !self().stores_.checks()->ends_own_cell(p, any_size, size_class)) return false;
    self().cache_cell(p, size_class);
    return true;
  }

  /// Effects: frees a block, or reports why it is none; `requested`: bytes, alignment and size class, or nothing.
  /// Expects: `p` is not null; `is_own`: the caller is the owner. Thread safety: any thread.
  template <class... Request>
  ASHLAR_NOINLINE void put_checked(void* p, bool is_own, Request... requested) noexcept {
    const auto in = self().sharing_.lock_all();
    if (!is_own) return take_remote(p, requested...);
    self().stores_.checks()->end_life(p, requested...);
    take_own(p);
  }

  /// Returns: the usable bytes of a block. Reports any other address as a wrong `use`. Thread safety: any thread.
  [[nodiscard]] std::size_t checked_size_of(const void* p, const auto& use) noexcept {
    void* const at = const_cast<void*>(p);
    const bool is_mine = !is_aligned(p, window_bytes) && self().upstream().get().is_of(&self(), p);
    const std::size_t size_class = is_mine ? segment::size_class_of(at) : size_classes::none;
    if (!Engine::has_no_links && size_class != size_classes::none && segment::is_live(at))
      return size_classes::bytes_of(size_class);
    const auto in = self().sharing_.lock_all();
    self().stores_.checks_of_block(use)->expect(p);
    return self().stores_.usable_size(p);
  }

  /// Effects: reports an address that is not a block of that request. Thread safety: any thread, at other levels as the
  /// caller.
  void expect_request(void* p, std::size_t bytes, std::size_t alignment, std::size_t size_class,
                      const auto& use) noexcept {
    if constexpr (Engine::owner_checks_without_lock) {
      const auto in = self().sharing_.lock_all();
      self().stores_.checks_of_block(use)->expect(p, bytes, alignment, size_class);
    } else if (const auto check = self().stores_.checks(use)) {
      check->expect(p, bytes, alignment, size_class);
    }
  }

  /// As `put(p, bytes, alignment)` of the engine, but false, without an effect, when the block may be of another heap
  /// or needs the slow path: at levels with a lock in every call. Thread safety: any thread.
  [[nodiscard]] ASHLAR_INLINE bool try_put_cell(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const auto call = self().sharing_.lock_call();
    const std::size_t size_class = class_of_request(bytes, alignment);
    if (is_sampled(p) || !self().stores_.checks()->ends_known_cell(p, bytes, size_class)) return false;
    self().cache_cell(p, size_class);
    return true;
  }

protected:
  owner_checks() = default;
  ~owner_checks() = default;

  /// @{ At level `hardened`, where free cells have no links: a cell of the batch, or `otherwise()`; the free of a dead
  /// cell. Where the owner frees without the lock, both are without it until the batch is empty, or too many wait.
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* take_unlinked(std::size_t size_class, std::size_t bytes, Otherwise otherwise) {
    auto& stores = self().stores_;
    if (Engine::owner_skips_lock && ASHLAR_UNLIKELY(size_class >= stores.first_common_batch)) return otherwise();
    void* const cell = stores.hand_out_of_batch(size_class, bytes);
    if (ASHLAR_UNLIKELY(cell == nullptr)) return otherwise();
    stores.checks()->begin_life(cell);
    return cell;
  }
  ASHLAR_INLINE void give_unlinked(void* cell, std::size_t size_class) noexcept {
    if (Engine::owner_skips_lock && ASHLAR_LIKELY(self().stores_.freed()->try_add(size_class, cell))) return;
    give_with_waiting(cell, size_class);
  }
  /// @}

private:
  static constexpr std::size_t any_size = max_size;

  [[nodiscard]] ASHLAR_INLINE Engine& self() noexcept { return static_cast<Engine&>(*this); }

  ASHLAR_NOINLINE void give_with_waiting(void* cell, std::size_t size_class) noexcept {
    const auto in = self().sharing_.lock_cold();
    self().stores_.give_freed(size_class);
    self().stores_.give_cell(cell);
  }

  // Under the lock.
  template <class... Request>
  void take_remote(void* p, Request... requested) noexcept {
    auto& stores = self().stores_;
    stores.checks_of_block()->end_life_by_other(p, requested...);
    if (is_aligned(p, window_bytes)) return stores.give_huge(p);
    stores.count_arrived(stores.give_block(p), self().sharing_.for_others());
  }

  // The same.
  void take_own(void* p) noexcept {
    auto& stores = self().stores_;
    const std::size_t size_class = segment::size_class_of(p);
    if (size_class == size_classes::none) return stores.give_span(p);
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    if constexpr (Engine::has_no_links) return is_sampled(p) ? stores.give_sampled(p, size_class) : stores.give_cell(p);
    stores.cache().push(size_class, p);
    if (is_sampled(p)) stores.count_freed(size_class);
  }
};

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
      std::byte* p = self().stores_.take_cached_span(bytes, alignment);
      if (ASHLAR_UNLIKELY(p == nullptr)) return nullptr;
      p = after_arrivals(p);
      ASHLAR_ASSUME(p != nullptr);
      return p;
    } else if constexpr (!Engine::owner_skips_lock && !Engine::has_no_links) {
      return self().stores_.take_binned_span(bytes, alignment);
    }
    return nullptr;
  }

  /// Returns: any span or huge block, or null. Expects: `take_free_span` has found none. `is_shared`: it is a huge
  /// block, whose memory the system gives without the lock; nothing of the owner is touched. Thread safety: then any
  /// thread.
  [[nodiscard]] ASHLAR_COLD fresh_block take_large(std::size_t bytes, std::size_t alignment,
                                                   bool is_shared = false) noexcept {
    if (!is_shared) static_cast<void>(after_arrivals(nullptr));
    auto& stores = self().stores_;
    const auto in = self().sharing_.lock_cold();
    fresh_block got = stores.take_large(with_canary(bytes), alignment);
    if (ASHLAR_UNLIKELY(got.data == nullptr) && !is_shared)
      got = self().sharing_.drain_inbox(stores).take_large_retry(with_canary(bytes), alignment);
    if (auto sizes = stores.sizes(); sizes && got.data != nullptr) sizes->hand_out_large(got.data, bytes);
    return got;
  }

  /// Returns: the calls of the upstream, which are made under the lock unless that is shared with them.
  [[nodiscard]] constexpr unlocked_calls& unlocked() noexcept { return static_cast<Engine&>(*this).stores_.unlocked(); }

protected:
  large_block_calls() = default;
  ~large_block_calls() = default;

  [[nodiscard]] fresh_block take_any_large(std::size_t bytes, std::size_t alignment, bool is_shared) noexcept {
    std::byte* const p = take_free_span(bytes, alignment);
    return p != nullptr ? fresh_block{p, false} : take_large(bytes, alignment, is_shared);
  }

  ASHLAR_INLINE void put_span(void* p) noexcept {
    if constexpr (Engine::sends) {
      if (ASHLAR_LIKELY(self().stores_.cache_span(p))) return;
    } else if constexpr (!Engine::owner_skips_lock) {
      if (ASHLAR_LIKELY(self().stores_.bin_span(p))) return;
    }
    put_locked(p, size_classes::none);
  }

  // Effects: takes back a span or a huge block; counts a cell at a sampled address, which is in its free list.
  ASHLAR_COLD void put_locked(void* p, std::size_t size_class) noexcept {
    auto& stores = self().stores_;
    if (size_class != size_classes::none) self().sharing_.count_slow();
    const auto in = self().sharing_.lock_cold();
    if (size_class == size_classes::none) is_aligned(p, window_bytes) ? stores.give_huge(p) : stores.give_span(p);
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
