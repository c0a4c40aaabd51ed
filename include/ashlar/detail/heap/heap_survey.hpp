// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lies in a heap for any thread, gathered from its threads' parts, each under its own lock.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/heap_region.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Whose a part of a heap is, as the calling thread sees it.
enum class heap_part : std::uint8_t {
  own,     ///< the thread's: what it has at hand may be looked at
  common,  ///< everybody's, and held by the caller as its own
  others,  ///< another thread's, or nobody's: what its owner has at hand may not
};

/// The members of a `Heap` that look at all of it. Its `parts()` have a `for_each_part(f)`, which calls
/// `f(part, heap_part)`, the common one last, and a `space()`.
///
/// The parts are looked at one after the other, so while threads allocate and free, a sum is of no one moment. What
/// another thread has at hand changes without a lock, so at level `fast` it cannot be told from live blocks and counts
/// as such: `at_hand_bytes` says about how much that is, but for up to 64 cells of each class up to 1 KiB. So do frees
/// of other threads that have not been sent, 64 KiB a thread at most. Threads that ended have neither. From level
/// `checked` on all is told apart.
template <class Heap>
class heap_survey {
public:
  /// Calls `f(p, bytes)` for each live block, and at level `fast` for the free cells that other threads have at hand or
  /// have noted. `f` may not use the heap: its parts are locked meanwhile. Complexity: O(slabs and free cells).
  template <class F>
  void for_each_live(F f) {
    self().parts().for_each_part([&](auto& part, heap_part whose) {
      const auto tell = [&](void* p, std::size_t bytes) { f(p, bytes); };
      whose == heap_part::others ? part.for_each_live_from_elsewhere(tell) : part.for_each_live(tell);
    });
  }

  /// Calls `f(heap_region)`, or `f(heap_region, whether it is the calling thread's)`, for each piece of what is held:
  /// segments, each from its head on, then huge blocks, among which are segments that wait for the next that needs one.
  /// `f` may not use the heap. Complexity: O(slices and cells on stacks).
  template <class F>
  void inspect(F f) const {
    self().parts().for_each_part([&](auto& part, heap_part whose) {
      const auto say = [&](const heap_region& piece) { tell(f, piece, whose == heap_part::own); };
      whose == heap_part::others ? part.inspect_remote(say) : part.inspect(say);
    });
    self().parts().space().for_each_cached([&](const std::byte* start, std::size_t bytes) {
      tell(f, heap_region::huge_block(start, bytes, false), false);
    });
  }

  /// Returns: bytes of the upstream that are in no segment and no huge block: tables, and the threads' records.
  [[nodiscard]] std::size_t table_bytes() const noexcept { return self().parts().space().table_bytes(); }

  /// Returns: as that of `local_heap`, of all threads.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    std::uint64_t sum = 0;
    self().parts().for_each_part([&](const auto& part, heap_part) { sum += part.reused_bytes(); });
    return sum;
  }

  /// Returns: about how many bytes that count as live are free and at hand of other threads: by the cells among them
  /// that count, each of which stands for up to 64 KiB of its class, so by that much it may be wrong for each class and
  /// thread. 0 from level `checked` on.
  [[nodiscard]] std::size_t at_hand_bytes() const noexcept {
    std::size_t sum = 0;
    self().parts().for_each_part(
        [&](const auto& part, heap_part whose) { sum += whose == heap_part::others ? part.at_hand_bytes() : 0; });
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

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
