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
#include <ashlar/detail/heap/cell_store.hpp>
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
class owner_heap : private detail::basic_local_heap<detail::owner_core<Upstream>> {
  using base = detail::basic_local_heap<detail::owner_core<Upstream>>;
  static constexpr bool sends = detail::owner_core<Upstream>::sends;

public:
  using base::least_alignment;
  using base::upstream_resource;

  owner_heap() : owner_heap(heap_options{}) {}
  explicit owner_heap(const heap_options& options, Upstream upstream = {}) : base(options, std::move(upstream)) {}
  explicit owner_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : owner_heap(heap_options{}, std::move(upstream)) {}
  ~owner_heap() { const scope held(whole_call()); }  // afterwards no thread is inside

  /// @{ As those of `local_heap`. Thread safety: the owner.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    const scope held(whole_call());
    return base::allocate(bytes, alignment);
  }
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    const scope held(whole_call());
    return base::try_allocate(bytes, alignment);
  }
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    const scope held(whole_call());
    return base::template allocate<Bytes, Alignment>();
  }
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    const scope held(whole_call());
    return base::allocate_at_least(bytes, alignment);
  }
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = try_allocate_zeroed(bytes, alignment);
    if (ASHLAR_UNLIKELY(p == nullptr)) detail::throw_bad_alloc(bytes, alignment);
    return p;
  }
  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return zeroed(try_allocate_unzeroed(bytes, alignment), bytes);
  }
  /// As `try_allocate`; the result also tells whether the block is zero, so that the caller clears it without a lock.
  [[nodiscard]] detail::slice_run try_allocate_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    const scope held(whole_call());
    return base::try_allocate_unzeroed(bytes, alignment);
  }
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    const scope held(whole_call());
    base::deallocate(p);
  }
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    const scope held(whole_call());
    base::deallocate(p, bytes, alignment);
  }
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    const scope held(whole_call());
    base::template deallocate<Bytes, Alignment>(p);
  }
  /// Thread safety: any thread.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(whole_call());
    return base::try_expand(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return new_bytes <= bytes && try_expand(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    const scope held(whole_call());
    return base::reallocate(p, new_bytes, alignment);
  }
  [[nodiscard]] void* try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) noexcept {
    const scope held(whole_call());
    return base::try_reallocate(p, new_bytes, alignment);
  }
  /// Effects: moves the cached cells to the bitmaps, where other threads reach them.
  void flush_caches() noexcept {
    const scope held(whole_call());
    base::flush_caches();
  }
  template <class F>
  void for_each_live(F f) {
    const scope held(whole_call());
    base::for_each_live(std::move(f));
  }
  template <class F>
  void inspect(F f) {
    this->core().take_in_now();
    const scope held(whole_call());
    base::inspect(std::move(f));
  }
  void release() noexcept {
    const scope held(whole_call());
    base::release();
  }
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const scope held(whole_call());
    return base::trim(retain_bytes);
  }
  [[nodiscard]] bool invariant() const noexcept {
    const scope held(whole_call());
    return base::invariant();
  }
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
    constexpr std::size_t size_class = base::class_for(Bytes, Alignment);
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

  /// As `deallocate`, but false, without an effect, when the block may be of another heap or needs the slow path.
  /// Expects: level `checked`. Thread safety: any thread.
  [[nodiscard]] bool try_deallocate_cell(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const scope held(whole_call());
    return base::try_deallocate_cell(p, bytes, alignment);
  }

  /// Effects: takes a block back at once, under the lock. Thread safety: any thread.
  void free_remote(void* p) noexcept {
    const scope held(whole_call());
    if constexpr (!sends) base::deallocate(p);
    else if (p != nullptr) this->core().give_now(p);
  }

  /// Returns: whether the block at `p` has `new_bytes` bytes now, in place. Thread safety: any thread.
  [[nodiscard]] bool try_resize(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(whole_call());
    return base::try_resize(p, new_bytes, alignment);
  }

  /// Effects: takes back the cells of a parcel, soon. Thread safety: any thread.
  void receive(detail::parcel_carrier<>* top, std::size_t bytes) noexcept { this->core().receive(top, bytes); }

  /// Returns: whether no parcel waits. Thread safety: any thread.
  [[nodiscard]] bool is_settled() const noexcept { return !this->core().has_arrivals(); }

  /// Effects: settles the parcels that have arrived: their cells go into the bitmaps. Thread safety: any thread.
  void drain_inbox() noexcept { this->core().take_in_now(); }

  /// As `inspect`; cells in the thread cache count as live. Thread safety: any thread.
  template <class F>
  void inspect_remote(F f) {
    this->core().take_in_now();
    const scope held(whole_call());
    if constexpr (sends) this->core().inspect_excluding_cache(std::move(f));
    else base::inspect(std::move(f));
  }

  /// As `for_each_live`; also visits cells in the thread cache at levels without a lock in every call. Thread safety:
  /// any thread.
  template <class F>
  void for_each_live_remote(F f) {
    const scope held(whole_call());
    if constexpr (sends) this->core().for_each_live_behind(std::move(f));
    else base::for_each_live(std::move(f));
  }

  /// Returns: approximate bytes in the thread cache, which look live to other threads; 0 at levels with a lock in every
  /// call. Thread safety: any thread.
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return sends ? this->core().cached_bytes() : 0; }

  /// Returns: the new address of a huge block resized to `new_bytes` by moving its pages; null if `p` is not huge, or
  /// its pages cannot move. Expects: the block is smaller. Thread safety: any thread.
  [[nodiscard]] void* try_move(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(whole_call());
    return this->core().move_huge(p, new_bytes, alignment);
  }

  /// Effects: as `trim`, but the thread cache stays. Thread safety: any thread.
  std::size_t trim_remote(std::size_t retain_bytes = 0) noexcept {
    const scope held(whole_call());
    if constexpr (sends) return this->core().trim_excluding_cache(retain_bytes);
    else return base::trim(retain_bytes);
  }

  /// Effects: as `trim_remote`, unless the heap is in use. For callers that hold the lock of another heap.
  /// Returns: bytes given back.
  std::size_t try_trim_remote() noexcept { return this->core().try_trim_excluding_cache(); }

  /// @{ Thread safety: any thread.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    const scope held(whole_call());
    return base::usable_size(p);
  }
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const scope held(whole_call());
    return base::owns(p);
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    const scope held(whole_call());
    return base::held_bytes();
  }
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    const scope held(whole_call());
    return this->core().table_bytes();
  }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    const scope held(whole_call());
    return this->core().reused_bytes();
  }
  /// Returns: the heap named in reports: this, or the heap of which it is a part.
  [[nodiscard]] const void* name() const noexcept { return this->core().name(); }
  /// @}

  /// Effects: reports a double free of a cell.
  void report_twice(const void* cell) const noexcept { this->core().report_twice(cell); }

  /// Effects: as `heap_core::set_number`.
  void set_number(std::uint32_t number) noexcept { this->core().set_number(number); }

  /// Effects: as `owner_core::on_slow_calls`.
  void on_slow_calls(void* self, void (*f)(void* self) noexcept) noexcept { this->core().on_slow_calls(self, f); }

  /// Effects: holds the locks for a fork.
  void before_fork() noexcept { this->core().before_fork(); }
  void after_fork() noexcept { this->core().after_fork(); }

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

private:
  using scope = detail::check_scope<typename detail::owner_core<Upstream>::whole_call_lock>;

  [[nodiscard]] auto& whole_call() const noexcept { return this->core().whole_call(); }
};

static_assert(try_resource<owner_heap<>> && owning_resource<owner_heap<>> && releasable_resource<owner_heap<>>);
static_assert(self_describing_resource<owner_heap<>> && expanding_resource<owner_heap<>>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
