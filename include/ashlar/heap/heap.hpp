// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for any thread: a thread heap for each, remote frees in parcels, one map of address space.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/heap_core.hpp>
#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/detail/heap/heap_survey.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/thread_heap_registry.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/heap/heap_options.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

using detail::heap_region;
using detail::region_kind;

/// A heap for any thread.
///
///     thread 1 -> thread_heap: owner_heap, remote_freer --+
///     thread 2 -> thread_heap  <-- parcels of frees --    +--> [ lock: shared_extent_map ] --> upstream
///     without one, and huge blocks -> [ lock: common ] ---+
///
/// A thread gets a `thread_heap` at its first call and leaves it, with its live blocks, to the next thread when it
/// ends. A thread that only frees costs the upstream 12 KiB. A thread that is ending, or that gets no memory, shares
/// the common heap under a lock. The fast paths are those of `local_heap` and on x86-64 three instructions more: two
/// thread-local words hold the heap last used and its thread heap. A sized free has five more, since it still looks up
/// the owner of the block. By clang, `allocate` has 17 instructions for 14, `deallocate(p)` 16 for 13,
/// `allocate<Bytes>` 11 for 8. The fast paths take no lock, and their only atomics are plain loads. A thread that
/// alternates between two heaps calls a function at each change, which finds the other heap in a table of the thread.
/// Thread safety: any thread; the destructor and `release` expect that no other thread uses the heap, and that all uses
/// have happened before. Nothing is allocated before the first block.
template <thread_safe_resource Upstream>
class heap : public detail::heap_survey<heap<Upstream>> {
  using members = detail::thread_heap_registry<Upstream>;
  using thread_heap = typename members::thread_heap;
  using owner = typename members::owner;
  static constexpr bool checks = members::checks;

public:
  static constexpr bool is_thread_safe = true;
  /// Bytes: the alignment of every block.
  static constexpr std::size_t least_alignment = detail::size_classes::granule;

  heap() : heap(heap_options{}) {}
  explicit heap(const heap_options& options, Upstream upstream = {}) : members_(options, std::move(upstream), this) {}
  explicit heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : heap(heap_options{}, std::move(upstream)) {}
  heap(const heap&) = delete;  // live blocks belong to it
  heap& operator=(const heap&) = delete;
  ~heap() = default;

  /// Returns: a block. Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  /// Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    return take(bytes, alignment, [=, this] { return allocate_excluding_cache(bytes, alignment); });
  }

  /// As `allocate`, but null when memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return take(bytes, alignment, [=, this] { return try_allocate_excluding_cache(bytes, alignment); });
  }

  /// Returns: a block whose size is known at compile time. Throws: `std::bad_alloc`.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    const auto otherwise = [this] { return allocate_excluding_cache(Bytes, Alignment); };
    thread_heap* const mine = members_.recent();
    if (ASHLAR_UNLIKELY(mine == nullptr)) return otherwise();
    return mine->blocks.template allocate_or<Bytes, Alignment>(otherwise);
  }

  /// Returns: a block whose first `bytes` bytes are zero. Pages fresh from the system are not written to.
  /// Throws: `std::bad_alloc`.
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = try_allocate_zeroed(bytes, alignment);
    if (ASHLAR_UNLIKELY(p == nullptr)) detail::throw_bad_alloc(bytes, alignment);
    return p;
  }

  /// As `allocate_zeroed`, but null when memory has run out.
  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    detail::slice_run got;
    static_cast<void>(members_.allocate_by(bytes, alignment, [&](owner& from) -> void* {
      got = from.try_allocate_unzeroed(bytes, alignment);
      return got.data;
    }));
    return zeroed(got, bytes);  // without the lock, so that no thread waits for the clearing
  }

  /// Returns: a block and its usable bytes; `deallocate` takes any size from `bytes` to those.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = allocate(bytes, alignment);
    return {p, usable_size(p)};
  }

  /// Effects: takes a block back, from any thread; nothing for null. Expects: the block is live and of this heap.
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    if (ASHLAR_UNLIKELY(checks || detail::is_sampled(p))) return deallocate_slow(p);
    thread_heap* const mine = members::latest();
    if (ASHLAR_LIKELY(is_of(mine, p))) return mine->blocks.deallocate(p);
    deallocate_remote(p);
  }

  /// As `deallocate(p)`. Expects: the block was allocated with this size and alignment, or `bytes` lies between the
  /// request and the result of `allocate_at_least`. `p` is not null.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    if (ASHLAR_UNLIKELY(checks || detail::is_sampled(p))) return deallocate_slow(p, bytes, alignment);
    thread_heap* const mine = members::latest();
    if (ASHLAR_LIKELY(is_of(mine, p))) return mine->blocks.deallocate(p, bytes, alignment);
    deallocate_remote(p);
  }

  /// As `deallocate(p, bytes, alignment)`, with the class resolved at compile time.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    if (ASHLAR_UNLIKELY(checks || detail::is_sampled(p))) return deallocate_slow(p, Bytes, Alignment);
    thread_heap* const mine = members::latest();
    if (ASHLAR_LIKELY(is_of(mine, p))) return mine->blocks.template deallocate<Bytes, Alignment>(p);
    deallocate_remote(p);
  }

  /// Returns: whether the block at `p` has `new_bytes` bytes now, in place. Expects: it was allocated with `bytes` and
  /// `alignment`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return members_.home_of(p).try_expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: as `try_expand` for a smaller size; false for a larger one.
  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return new_bytes <= bytes && try_expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: a block of `new_bytes` bytes with the contents of the block at `p`, up to the smaller size; `p` itself if
  /// it can be resized in place. A null `p` is an empty block. Throws: `std::bad_alloc`; the block at `p` stays then.
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    void* const moved = try_reallocate(p, new_bytes, alignment);
    if (ASHLAR_UNLIKELY(moved == nullptr)) detail::throw_bad_alloc(new_bytes, alignment);
    return moved;
  }

  /// As `reallocate`, but null when memory has run out.
  [[nodiscard]] void* try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) noexcept {
    if (p == nullptr) return try_allocate(new_bytes, alignment);
    ASHLAR_REQUIRE(detail::is_power_of_two(alignment), "alignment is not a power of two");
    owner& home = members_.home_of(p);
    const std::size_t bytes = home.usable_size(p);
    if (detail::is_aligned(p, alignment) && home.try_resize(p, new_bytes, alignment)) return p;
    if (new_bytes > bytes)
      if (void* const pages = home.try_move(p, new_bytes, alignment); pages != nullptr) return pages;
    void* const moved = try_allocate(new_bytes, alignment);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, p, detail::min(bytes, new_bytes));
    deallocate(p);
    return moved;
  }

  /// Returns: the usable bytes of the block, at least the requested ones. Expects: it is live.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    return members_.home_of(const_cast<void*>(p)).usable_size(p);
  }

  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  /// Complexity: O(threads), a lock for each; O(1) for foreign addresses and huge blocks.
  [[nodiscard]] bool owns(const void* p) const noexcept { return members_.owns(p); }

  /// Returns: whether the address lies in memory of the calling thread for blocks. Huge blocks belong to no thread.
  /// `p` is not read.
  [[nodiscard]] bool is_mine(const void* p) const noexcept {
    const thread_heap* const mine = members_.known();
    return mine != nullptr && mine->blocks.owns(p);
  }

  /// The blocks of a thread in transit to another, which frees them as its own after `adopt`. Blocks that are not
  /// adopted go to the next thread without a heap. Lifetime: the heap outlives it.
  class detached {
  public:
    detached(detached&& from) noexcept : heap_(from.heap_), what_(std::exchange(from.what_, nullptr)) {}
    detached& operator=(detached&& from) noexcept {
      std::swap(what_, from.what_);
      std::swap(heap_, from.heap_);
      return *this;
    }
    ~detached() {
      if (what_ != nullptr) heap_->members_.park(*what_);
    }

  private:
    friend heap;
    detached(heap& of, thread_heap* what) noexcept : heap_(&of), what_(what) {}

    heap* heap_;
    thread_heap* what_;
  };

  /// Returns: all blocks that the calling thread has allocated, separate from its next ones.
  [[nodiscard]] detached detach() noexcept { return detached(*this, members_.detach()); }

  /// Effects: makes the blocks those of the calling thread; its former ones go to the next thread.
  /// Expects: they are of this heap, which is checked at every level.
  void adopt(detached from) noexcept {
    ASHLAR_REQUIRE(from.heap_ == this, "adopted blocks of another heap");
    from.what_ = members_.adopt(from.what_);
  }

  /// Effects: sends the remote frees of the calling thread.
  void flush() noexcept { members_.flush(); }

  /// Effects: takes all blocks back and gives all memory to the upstream but the threads' records, 12 KiB each.
  /// Expects: no other thread uses the heap; those that did may be ending.
  void release() noexcept { members_.release(); }

  /// Effects: purges free memory of all threads, except the thread caches and unsent remote frees of other threads. The
  /// calling thread retains at most `retain_bytes`.
  /// Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return members_.trim(retain_bytes); }

  /// Returns: bytes of segments and huge blocks held from the upstream.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return members_.space().held_bytes(); }
  /// Returns: thread heaps of ended threads that wait for adoption.
  [[nodiscard]] std::size_t parked() const noexcept { return members_.parked(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return members_.space().upstream(); }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return members_.space().upstream(); }

  [[nodiscard]] friend bool operator==(const heap& a, const heap& b) noexcept { return &a == &b; }

  /// Expects: no thread allocates or frees meanwhile. Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept { return members_.invariant(); }

private:
  friend detail::heap_survey<heap>;

  [[nodiscard]] const members& parts() const noexcept { return members_; }

  // Returns `otherwise()` on a miss.
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment, Otherwise otherwise) {
    ASHLAR_REQUIRE(detail::is_power_of_two(alignment), "alignment is not a power of two");
    thread_heap* const mine = members_.recent();
    if (ASHLAR_LIKELY(mine != nullptr && bytes <= detail::size_classes::largest && alignment <= least_alignment))
      return mine->blocks.allocate_or(bytes, otherwise);
    return otherwise();
  }

  // Whether the block is of the thread heap last used: its address stands in the head of the segment. Expects: `p` is
  // not a sampled address.
  [[nodiscard]] static ASHLAR_INLINE bool is_of(const thread_heap* mine, void* p) noexcept {
    return detail::segment::heap_of(p) == static_cast<const void*>(mine);
  }

  // Out of line, since inlined they would make the fast paths save registers.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate_excluding_cache(std::size_t bytes, std::size_t alignment) noexcept {
    thread_heap* const mine = members_.recent();
    if (ASHLAR_UNLIKELY(mine == nullptr)) return try_allocate_after_another(bytes, alignment);
    void* p = nullptr;
    if (ASHLAR_LIKELY(bytes <= detail::size_classes::largest && alignment <= least_alignment))
      p = mine->blocks.allocate_excluding_cache(bytes);
    else if (bytes <= detail::most_slices * detail::slice_bytes && alignment <= detail::slice_bytes)  // usually a span
      p = mine->blocks.try_allocate_unzeroed(bytes, alignment).data;
    return ASHLAR_LIKELY(p != nullptr) ? p : try_allocate_slow(bytes, alignment);
  }

  // For a thread whose last used heap was another one, or none.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate_after_another(std::size_t bytes, std::size_t alignment) noexcept {
    if (members_.known() == nullptr) return try_allocate_slow(bytes, alignment);
    return take(bytes, alignment, [=, this] { return try_allocate_slow(bytes, alignment); });
  }

  [[nodiscard]] ASHLAR_NOINLINE void* allocate_excluding_cache(std::size_t bytes, std::size_t alignment) {
    void* const p = try_allocate_excluding_cache(bytes, alignment);
    if (ASHLAR_UNLIKELY(p == nullptr)) detail::throw_bad_alloc(bytes, alignment);
    return p;
  }

  // The thread heap tries its cache again: the first try may have stopped at a sampled address, which is counted.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate_slow(std::size_t bytes, std::size_t alignment) noexcept {
    constexpr std::size_t most = detail::size_classes::largest;
    if (thread_heap* const mine = members_.recent(); mine != nullptr && bytes <= most && alignment <= most)
      if (void* const p = mine->blocks.try_allocate(bytes, alignment); p != nullptr) return p;
    return members_.allocate_by(bytes, alignment, [&](owner& from) { return from.try_allocate(bytes, alignment); });
  }

  // A block of another thread, or a thread whose last used heap was another one.
  ASHLAR_NOINLINE void deallocate_remote(void* p) noexcept {
    if (thread_heap* const mine = members_.recent(); ASHLAR_LIKELY(mine != nullptr))
      return mine->freer.defer_free_cell(*owner::of(p), p);
    members_.deallocate_by(p, [p](owner& home) { home.deallocate(p); });
  }

  ASHLAR_NOINLINE void deallocate_slow(void* p) noexcept {
    if (p == nullptr) return;
    if (!checks && !detail::is_aligned(p, detail::window_bytes))
      if (thread_heap* const mine = members::latest(); is_of(mine, p)) return mine->blocks.deallocate(p);
    members_.deallocate_by(p, [&](owner& home) { home.deallocate(p); });
  }

  ASHLAR_NOINLINE void deallocate_slow(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!checks && p != nullptr) return deallocate_slow(p);
    if constexpr (checks)  // the other owner is known under another lock
      if (thread_heap* const mine = members_.recent();
          mine != nullptr && mine->blocks.try_deallocate_cell(p, bytes, alignment))
        return;
    members_.deallocate_by(p, [&](owner& home) { home.deallocate(p, bytes, alignment); });
  }

  members members_;
};

ASHLAR_COMPILED(class detail::thread_heap_registry<page_resource>);
ASHLAR_COMPILED(class heap<page_resource>);

static_assert(try_resource<heap<>> && owning_resource<heap<>> && releasable_resource<heap<>>);
static_assert(self_describing_resource<heap<>> && expanding_resource<heap<>> && thread_safe_resource<heap<>>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
