// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's side of remote frees: batches frees of other threads' blocks into packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/owner_core.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/segment_words.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/remote_free/packet.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/heap/owner_heap.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// Notes up to 64 KiB of freed cells and sends them in packets, without touching the dead cells. Larger blocks go back
/// at once. Size: 9 KiB; never allocates. From level `checked` on every block goes back at once, so that the freeing
/// call reports misuse. Lifetime: the heaps outlive it, or its last `leave`. Thread safety: one thread, any number of
/// heaps.
template <resource Upstream>
class remote_freer {
  using owner_type = owner_heap<Upstream>;

public:
  /// Bytes: the limit of noted cells, exceeded by at most one cell.
  static constexpr std::size_t most_held = std::size_t{64} * 1024;

  remote_freer() = default;
  remote_freer(const remote_freer&) = delete;
  remote_freer& operator=(const remote_freer&) = delete;
  ~remote_freer() { leave(); }

  /// Effects: frees a block of `owner`; nothing for null. Complexity: O(1) amortised.
  ASHLAR_INLINE void defer_free(owner_type& owner, void* p) noexcept {
    if (ASHLAR_UNLIKELY(!detail::owner_core<Upstream>::sends || detail::is_sampled(p))) return defer_sampled(owner, p);
    note(owner, p);
  }

  /// Effects: sends the noted cells; without a free packet they go back at once, under the owners' locks.
  void flush() noexcept {
    if (!batch_.flush(route)) hand_over();
  }

  /// Effects: flushes, unless cells were noted since the last call: an active freer sends them in time.
  void flush_if_quiet() noexcept {
    if (batch_.held() != 0 && batch_.held() == seen_) flush();
    seen_ = batch_.held();
  }

  /// Effects: flushes, and brings all packets back: the heaps of the freed blocks may end.
  void leave() noexcept {
    flush();
    batch_.for_each_under_way([](auto& sent_to) { drain_inbox(sent_to); });
    ASHLAR_ASSERT(batch_.is_idle());  // packets taken out come back before their lock is released
  }

  /// Effects: forgets the noted cells. Expects: no packet is in transit: all inboxes were drained.
  void forget() noexcept {
    using batcher = detail::heap_batcher;
    batch_.~batcher();
    ::new (static_cast<void*>(&batch_)) batcher(most_held);
  }

  /// Returns: cells noted and not sent. Complexity: O(9 KiB).
  [[nodiscard]] std::size_t noted() const noexcept { return batch_.noted(); }
  [[nodiscard]] bool invariant() const noexcept { return batch_.invariant(); }

private:
  // Null and blocks outside of slabs start with a slice; so do some cells.
  ASHLAR_NOINLINE void defer_sampled(owner_type& owner, void* p) noexcept {
    const bool may_wait = detail::owner_core<Upstream>::sends && detail::address_of(p) % detail::window_bytes != 0;
    if (!may_wait || detail::segment::owner_of(p) == detail::size_classes::none) return owner.free_remote(p);
    note(owner, p);
  }

  ASHLAR_INLINE void note(owner_type& owner, void* cell) noexcept {
    const detail::remote_free_info& slab = detail::place_of_cell(cell);
    const detail::freed_word place = word_of_cell(cell, slab);
    if (ASHLAR_UNLIKELY(!batch_.try_add(place, slab.cell_bytes))) return note_slow(owner, cell, place, slab.cell_bytes);
    detail::mark_free(cell, slab.cell_bytes);
  }

  // A tail call: the path without it needs no stack frame.
  ASHLAR_NOINLINE void note_slow(owner_type& owner, void* cell, detail::freed_word place, std::size_t bytes) noexcept {
    const detail::batch_result result = batch_.add(place.key, place.cells, route, bytes);
    if (ASHLAR_LIKELY(result == detail::batch_result::noted)) return detail::mark_free(cell, bytes);
    refused(owner, cell, result);
  }

  ASHLAR_COLD void refused(owner_type& owner, void* cell, detail::batch_result result) noexcept {
    if (result == detail::batch_result::already_noted)
      detail::report({.kind = fault::double_free,
                      .what = "freed a block that is free",
                      .pointer = cell,
                      .resource = owner.name()});
    hand_over();
    owner.free_remote(cell);
  }

  // No packet is free: the owners sleep, or are slow. Their inboxes are drained here, one lock for each owner; cells
  // that still find no packet go back one bitmap word at a time.
  ASHLAR_COLD void hand_over() noexcept {
    batch_.for_each_under_way([](auto& sent_to) { drain_inbox(sent_to); });
    if (batch_.flush(route)) return;
    batch_.hand_over([](const detail::freed_word& word) { owner_of(word.key).take_back(word); });
  }

  [[nodiscard]] static owner_type& owner_of(std::uintptr_t key) noexcept {
    return *owner_type::of(&detail::segment_of_key(key).head);
  }

  static void drain_inbox(detail::heap_batcher::inbox_type& sent_to) noexcept {
    auto& inbox = static_cast<detail::heap_inbox&>(sent_to);
    inbox.drain_inbox(inbox.owner);
  }

  static constexpr auto route = [](std::uintptr_t key) noexcept -> detail::heap_batcher::inbox_type& {
    return owner_of(key).inbox();
  };

  detail::heap_batcher batch_{most_held};
  std::size_t seen_ = 0;  // noted cells at the last `flush_if_quiet`
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
