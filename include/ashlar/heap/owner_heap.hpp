// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap of one thread with remote frees: any thread may free its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/basic_local_heap.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_store.hpp>
#include <ashlar/detail/heap/heap_core.hpp>
#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/detail/heap/owner_core.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/heap/heap_options.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

using detail::heap_region;
using detail::region_kind;

/// A `local_heap` with remote frees. The owner is the allocating thread: one at a time, and a change of owners needs
/// synchronisation, such as a lock. Other threads free by a `remote_freer`, many blocks for one atomic operation.
///
///     ashlar::owner_heap<> mesh;                  // of the thread that streams
///     ashlar::remote_freer freer;                 // of a thread that renders
///     freer.defer_free(mesh, p);
///
/// The fast paths are those of `local_heap`; the slow paths unpack what has arrived. From level `checked` on every call
/// takes a lock. The heap may end, or be released, once every `remote_freer` with frees of its blocks has ended or
/// flushed.
template <resource Upstream>
class owner_heap : private detail::basic_local_heap<detail::owner_core<detail::heap_core<Upstream>>> {
  using core_type = detail::owner_core<detail::heap_core<Upstream>>;
  using base = detail::basic_local_heap<core_type>;
  static constexpr bool sends = detail::frees_travel;
  using base::core;

public:
  using base::least_alignment;
  using base::upstream_resource;

  owner_heap() : owner_heap(heap_options{}) {}
  explicit owner_heap(const heap_options& options, Upstream upstream = {}) : base(options, std::move(upstream)) {}
  explicit owner_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : owner_heap(heap_options{}, std::move(upstream)) {}
  ~owner_heap() { const typename base::scope held(core().call_lock()); }  // afterwards no thread is inside

  /// @{ As those of `local_heap`. Thread safety: the owner.
  using base::allocate;
  using base::allocate_at_least;
  using base::allocate_zeroed;
  using base::deallocate;
  using base::flush_caches;
  using base::for_each_live;
  using base::invariant;
  using base::reallocate;
  using base::release;
  using base::trim;
  using base::try_allocate;
  using base::try_allocate_unzeroed;
  using base::try_allocate_zeroed;
  using base::try_reallocate;
  template <class F>
  void inspect(F f) {
    core().take_in_now();
    base::inspect(std::move(f));
  }
  /// @}

  /// @{ As those of `local_heap`. `try_resize` is `try_expand` without the present size. `try_deallocate_cell` is
  /// `deallocate`, but false, without an effect, when the block may be of another heap or needs the slow path; it
  /// expects level `checked`. Thread safety: any thread.
  using base::held_bytes;
  using base::owns;
  using base::reused_bytes;
  using base::table_bytes;
  using base::try_deallocate_cell;
  using base::try_expand;
  using base::try_move;
  using base::try_resize;
  using base::try_shrink;
  using base::usable_size;
  /// @}

  /// @{ Returns: a cached block, else the result of `otherwise()`, called without a lock.
  /// Expects: `bytes <= size_classes::largest`. Thread safety: the owner.
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* allocate_or(std::size_t bytes, Otherwise otherwise) {
    if constexpr (sends) return this->take_cell_or(detail::size_classes::of(bytes), bytes, otherwise);
    void* const p = try_allocate(bytes);
    return p != nullptr ? p : otherwise();
  }
  template <std::size_t Bytes, std::size_t Alignment, class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* allocate_or(Otherwise otherwise) {
    constexpr std::size_t size_class = detail::class_of_request(Bytes, Alignment);
    if constexpr (size_class == detail::size_classes::none) return otherwise();
    if constexpr (sends) return this->take_cell_or(size_class, Bytes, otherwise);
    void* const p = try_allocate(Bytes, Alignment);
    return p != nullptr ? p : otherwise();
  }
  /// @}

  /// Returns: a remotely freed block from behind the thread cache, or null.
  /// Expects: `bytes <= size_classes::largest`. Thread safety: the owner.
  [[nodiscard]] ASHLAR_INLINE void* allocate_excluding_cache(std::size_t bytes) noexcept {
    if constexpr (sends) return this->take_excluding_cache(detail::size_classes::of(bytes), bytes);
    else return nullptr;
  }

  /// Effects: takes a block back at once, under the lock. Thread safety: any thread.
  void free_remote(void* p) noexcept {
    if constexpr (!sends) base::deallocate(p);
    else if (p != nullptr) core().give_now(p);
  }

  /// Effects: takes back the cells of a parcel, soon. Thread safety: any thread.
  void receive(detail::parcel_carrier<>* top, std::size_t bytes) noexcept { core().receive(top, bytes); }

  /// Returns: whether no parcel waits. Thread safety: any thread.
  [[nodiscard]] bool is_settled() const noexcept { return !core().has_arrivals(); }

  /// Effects: settles the parcels that have arrived: their cells go into the bitmaps. Thread safety: any thread.
  void drain_inbox() noexcept { core().take_in_now(); }

  /// As `inspect`; cells in the thread cache count as live. Thread safety: any thread.
  template <class F>
  void inspect_remote(F f) {
    core().take_in_now();
    if constexpr (sends) core().inspect_excluding_cache(std::move(f));
    else base::inspect(std::move(f));
  }

  /// As `for_each_live`; also visits cells in the thread cache at levels without a lock in every call. Thread safety:
  /// any thread.
  template <class F>
  void for_each_live_remote(F f) {
    if constexpr (sends) core().for_each_live_behind(std::move(f));
    else base::for_each_live(std::move(f));
  }

  /// Returns: approximate bytes in the thread cache, which look live to other threads; 0 at levels with a lock in every
  /// call. Thread safety: any thread.
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return sends ? core().cached_bytes() : 0; }

  /// Effects: as `trim`, but the thread cache stays. Thread safety: any thread.
  std::size_t trim_remote(std::size_t retain_bytes = 0) noexcept {
    if constexpr (sends) return core().trim_excluding_cache(retain_bytes);
    else return base::trim(retain_bytes);
  }

  /// Effects: as `trim_remote`, unless the heap is in use. For callers that hold the lock of another heap.
  /// Returns: bytes given back.
  std::size_t try_trim_remote() noexcept { return core().try_trim_excluding_cache(); }

  /// Effects: gives one empty segment back to the upstream, with its pages, unless the heap is in use. Returns: whether
  /// it did.
  bool try_give_segment() noexcept { return core().try_give_segment(); }

  /// Returns: the heap named in reports: this, or the heap of which it is a part. Thread safety: any thread.
  [[nodiscard]] const void* name() const noexcept { return core().name(); }

  /// Effects: reports a double free of a cell.
  void report_twice(const void* cell) const noexcept { core().report_twice(cell); }

  /// Effects: as `heap_core::set_number`.
  void set_number(std::uint32_t number) noexcept { core().set_number(number); }

  /// Effects: as `owner_core::on_slow_calls`.
  void on_slow_calls(void* self, void (*f)(void* self) noexcept) noexcept { core().on_slow_calls(self, f); }

  /// Effects: holds the locks for a fork.
  void before_fork() noexcept { core().before_fork(); }
  void after_fork() noexcept { core().after_fork(); }

  /// Effects: forgets the thread cache of an owner that the forked child does not have. At levels with a lock in every
  /// call no call was under way at the fork, and the cached cells go to their bitmaps.
  void forget_owner() noexcept {
    if constexpr (sends) this->forget_cache();
    flush_caches();
  }

  /// Returns: the owner of a cell or a span. Expects: it is live, of an `owner_heap`, and not huge.
  [[nodiscard]] static ASHLAR_INLINE owner_heap* of(void* p) noexcept {
    return of_segment(detail::segment::heap_of(p));
  }
  /// Returns: the same, by the owner in the head of the segment.
  [[nodiscard]] static ASHLAR_INLINE owner_heap* of_segment(const void* heap) noexcept {
    return static_cast<owner_heap*>(static_cast<base*>(const_cast<void*>(heap)));
  }

  [[nodiscard]] friend bool operator==(const owner_heap& a, const owner_heap& b) noexcept { return &a == &b; }
};

static_assert(try_resource<owner_heap<>> && owning_resource<owner_heap<>> && releasable_resource<owner_heap<>>);
static_assert(self_describing_resource<owner_heap<>> && expanding_resource<owner_heap<>>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
