// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap of one thread with remote frees: any thread may free its blocks.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// A `local_heap` with remote frees. The owner is the allocating thread: one at a time, and a change of owners needs
/// synchronisation, such as a lock. Other threads free by a `remote_freer`, many blocks for one atomic operation.
///
///     ashlar::owner_heap<> mesh;                  // of the thread that streams
///     ashlar::remote_freer freer;                 // of a thread that renders
///     freer.defer_free(mesh, p);
///
/// Calls are for the owner, except for those that say so. The fast paths are as in `local_heap`; the slow paths unpack
/// what has arrived. From level `checked` on every call takes a lock. The heap may end, or be released, once every
/// `remote_freer` with frees of its blocks has ended or flushed.
template <resource Upstream>
class owner_heap : public detail::heap_api<owner_heap<Upstream>>,
                   public detail::heap_contents_api<owner_heap<Upstream>> {
  using calls = detail::heap_api<owner_heap>;
  using contents = detail::heap_contents_api<owner_heap>;

public:
  owner_heap() : owner_heap(heap_options{}) {}
  explicit owner_heap(const heap_options& options, Upstream upstream = {}) : engine_(options, std::move(upstream)) {}
  explicit owner_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : owner_heap(heap_options{}, std::move(upstream)) {}

  /// @{ As in `local_heap`, for the owner. No lock is held while a block is cleared.
  using calls::allocate;
  using calls::allocate_at_least;
  using calls::allocate_zeroed;
  using calls::deallocate;
  using calls::least_alignment;
  using calls::reallocate;
  using calls::try_allocate;
  using calls::try_allocate_zeroed;
  using calls::try_reallocate;
  using calls::try_resize;
  using contents::for_each_live;
  using contents::invariant;
  using contents::release;
  using contents::segments;
  using contents::trim;
  using contents::upstream_resource;
  /// @}
  /// @{ As in `local_heap`. Thread safety: any thread.
  using calls::try_expand;
  using calls::try_shrink;
  using calls::usable_size;
  using contents::held_bytes;
  using contents::owns;
  using contents::reused_bytes;
  using contents::table_bytes;
  /// @}

  /// As in `local_heap`, after what has arrived is drained. Throws: as `f`.
  template <class F>
  void inspect(F f) const {
    engine_.drain_inbox();
    contents::inspect(std::move(f));
  }

  /// Effects: takes a block back at once, under the lock; parcels stay in the inbox. At level `fast` a block goes into
  /// the inbox, too, while another thread holds the lock, unless it is huge. Complexity: O(1). Thread safety: any
  /// thread.
  void free_remote(void* p) noexcept { engine_.give_now(p); }

  /// Effects: drains the parcels that have arrived: their cells go into the bitmaps. Complexity: O(cells that have
  /// arrived). Thread safety: any thread.
  void drain_inbox() noexcept { engine_.drain_inbox(); }

  /// Effects: moves all free cells to their slabs, and joins free slices. Complexity: O(cached cells).
  void flush_caches() noexcept { engine_.flush_caches(); }

  /// As `inspect`; cells in the thread cache count as live. Throws: as `f`. Complexity: O(slices). Thread safety: any
  /// thread.
  template <class F>
  void inspect_remote(F f) {
    engine_.inspect_remote(std::move(f));
  }

  /// As `for_each_live`; also visits cells in the thread cache at levels without a lock in every call. Throws: as `f`.
  /// Complexity: O(slabs and live cells). Thread safety: any thread.
  template <class F>
  void for_each_live_remote(F f) {
    engine_.for_each_live_remote(std::move(f));
  }

  /// Returns: approximate bytes in the thread cache, which look live to other threads; 0 at levels with a lock in every
  /// call. Complexity: O(1). Thread safety: any thread.
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return engine_.cached_bytes(); }

  /// Effects: as `trim`, but the thread cache stays. Complexity: O(slabs). Thread safety: any thread.
  std::size_t trim_remote(std::size_t retain_bytes = 0) noexcept { return engine_.trim_remote(retain_bytes); }

  [[nodiscard]] friend bool operator==(const owner_heap& a, const owner_heap& b) noexcept { return &a == &b; }

private:
  friend calls;
  friend contents;
  friend remote_freer<Upstream>;

  [[nodiscard]] ASHLAR_INLINE auto& primitives() noexcept { return engine_; }
  [[nodiscard]] ASHLAR_INLINE const auto& primitives() const noexcept { return engine_; }

  mutable detail::owner_engine<Upstream> engine_;  // `inspect` drains what has arrived
};

static_assert(try_resource<owner_heap<>> && owning_resource<owner_heap<>> && releasable_resource<owner_heap<>>);
static_assert(self_describing_resource<owner_heap<>> && expanding_resource<owner_heap<>>);

}  // namespace ashlar::ASHLAR_ABI
