// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contents of a heap for any thread, collected from the parts of its threads, each under its own lock.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The owner of a part of a heap, as the calling thread sees it.
enum class heap_part : std::uint8_t {
  own,     ///< the calling thread: its cache may be read
  common,  ///< no thread; the caller holds its lock
  others,  ///< another thread, running or ended: its cache may not be read
};

/// The members of a `Heap` that visit all of it. Its `parts()` have a `for_each_part(f)`, which calls `f(part,
/// heap_part)`, for the common one last, and a `space()`.
///
/// The parts are visited one after the other: while threads allocate and free, a sum describes no single moment. A
/// thread changes its cache without a lock. So at level `fast` cached cells and spans of other threads count as live;
/// `cached_bytes` estimates them, except up to 64 cells of each class up to 1 KiB. Unsent remote frees of other
/// threads count as live too, about 256 KiB for each thread. Ended threads have neither. From level `checked` on all
/// counts are exact. Callbacks run under locks, one part's at a time, and forks wait. They may use pools, and other
/// heaps that no callback of another thread visits meanwhile to use this one: two such visits would wait for each
/// other.
template <class Heap>
class heap_survey {
public:
  /// Effects: calls `f(p, bytes)` for each live block; at level `fast` also for cached and noted cells of other
  /// threads. `f` may not use the heap: its parts are locked meanwhile. Throws: as `f`. Complexity: O(slabs and free
  /// cells).
  template <class F>
  void for_each_live(F f) {
    const fork_participants::callback_scope calling;
    self().parts().for_each_part([&](auto& part, heap_part whose) {
      const auto tell = [&](void* p, std::size_t bytes) { f(p, bytes); };
      whose == heap_part::others ? part.for_each_live_remote(tell) : part.for_each_live(tell);
    });
  }

  /// Effects: calls `f(heap_region)`, or `f(heap_region, is_mine)`, for each region held: the segments, each from its
  /// head on, then the huge blocks, among them the cached segments. `f` may not use the heap. Throws: as `f`.
  /// Complexity: O(slices and cells on free lists).
  template <class F>
  ASHLAR_INLINE_FOR_SIZE void inspect(F f) const {
    const fork_participants::callback_scope calling;
    self().parts().for_each_part([&](auto& part, heap_part whose) {
      const auto say = [&](const heap_region& piece) { tell(f, piece, whose == heap_part::own); };
      if (whose == heap_part::others) return part.inspect_remote(say);
      part.drain_inbox();
      part.inspect(say);
    });
    self().parts().space().for_each_cached([&](const std::byte* start, std::size_t bytes) {
      tell(f, heap_region::huge_block(start, bytes, false), false);
    });
  }

  /// Returns: bytes from the upstream outside of segments and huge blocks: tables, and the threads' records.
  [[nodiscard]] std::size_t table_bytes() const noexcept { return self().parts().space().table_bytes(); }

  /// Returns: as in `local_heap`, over all threads. Complexity: O(threads), a lock for each.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    std::uint64_t sum = 0;
    self().parts().for_each_part([&](const auto& part, heap_part) { sum += part.reused_bytes(); });
    return sum;
  }

  /// Returns: approximate bytes of cached cells and spans of other threads, which count as live. A sampled address
  /// stands for up to 64 KiB of its class, which bounds the error for each class and thread. Complexity: as above. From
  /// level `checked` on 0.
  [[nodiscard]] std::size_t cached_bytes() const noexcept {
    std::size_t sum = 0;
    self().parts().for_each_part(
        [&](const auto& part, heap_part whose) { sum += whose == heap_part::others ? part.cached_bytes() : 0; });
    return sum;
  }

protected:
  heap_survey() = default;
  ~heap_survey() = default;

private:
  template <class F>
  static void tell(F& f, const heap_region& piece, bool is_mine) {
    if constexpr (std::invocable<F&, const heap_region&, bool>) f(piece, is_mine);
    else f(piece);
  }

  [[nodiscard]] Heap& self() noexcept { return static_cast<Heap&>(*this); }
  [[nodiscard]] const Heap& self() const noexcept { return static_cast<const Heap&>(*this); }
};

}  // namespace ashlar::ASHLAR_ABI::detail
