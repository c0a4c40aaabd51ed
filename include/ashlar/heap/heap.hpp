// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for any thread: a heap for each, frees that travel in packets, one table of address space.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/expects.hpp>
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
///   thread 1 -> thread_heap: owner_heap, remote_freer --+
///   thread 2 -> thread_heap  <-- packets of frees --    +--> [ lock: shared_extent_map ] --> upstream
///   without one, and huge blocks -> [ lock: common ] ---+
///
/// A thread gets a `thread_heap` at its first call, and leaves it to the next one when it ends, with all blocks that
/// live. One that only frees asks the upstream for nothing but that, 16 KiB. One that is ending, or for which there is
/// no memory, shares the common heap under a lock.
/// The fast paths are those of `local_heap`, and on x86-64 three instructions more: two words of the thread's own
/// say which heap it used last, and what it has there. A free that is told the size has five more, since it must look
/// whose the block is all the same. So by clang `allocate` has 15 for 12, `deallocate(p)` 22 for 19, `allocate<Bytes>`
/// 11 for 8. None locks, and of atomics they have plain loads only. Whoever uses two heaps in turn calls a function at
/// each turn, which finds the other in a table of the thread.
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
  /// What every block is aligned by.
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

  /// As `allocate`, but null where memory has run out.
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
    if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
    return p;
  }

  /// As `allocate_zeroed`, but null where memory has run out.
  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    detail::slice_run got;
    static_cast<void>(members_.allocate_by(bytes, alignment, [&](owner& from) -> void* {
      got = from.try_allocate_unzeroed(bytes, alignment);
      return got.data;
    }));
    return zeroed(got, bytes);  // without the lock, which others wait for
  }

  /// Returns: a block and how large it really is; any size from `bytes` to that gives it back.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = allocate(bytes, alignment);
    return {p, usable_size(p)};
  }

  /// Effects: takes a block back, from whatever thread; nothing where `p` is null. Expects: it is live and of this
  /// heap.
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    if (ASHLAR_UNLIKELY(checks || detail::is_sampled(p))) return deallocate_slow(p);
    thread_heap* const mine = members::latest();
    if (ASHLAR_LIKELY(is_of(mine, p))) return mine->blocks.deallocate(p);
    deallocate_remote(p);
  }

  /// As `deallocate(p)`. Expects: the block was allocated with this size and alignment, or `bytes` is between what was
  /// asked for and what `allocate_at_least` gave. `p` is not null.
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

  /// Returns: whether the block at `p` has `new_bytes` bytes now, where it stands. Expects: it was allocated with
  /// `bytes` and `alignment`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return members_.home_of(p).try_expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: as `try_expand`, for a block that is to become smaller; false where it would grow.
  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return new_bytes <= bytes && try_expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: a block of `new_bytes` with the contents of the one at `p`, as far as both reach; `p` itself if it can be
  /// resized where it stands. A null `p` is a block of nothing. Throws: `std::bad_alloc`; the block at `p` stays then.
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    void* const moved = try_reallocate(p, new_bytes, alignment);
    if (ASHLAR_UNLIKELY(moved == nullptr)) throw_bad_alloc(new_bytes, alignment);
    return moved;
  }

  /// As `reallocate`, but null where memory has run out.
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

  /// Returns: how many bytes of the block may be used: what was asked for, or more. Expects: it is live.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    return members_.home_of(const_cast<void*>(p)).usable_size(p);
  }

  /// Returns: whether the address lies in memory that this heap has for blocks, live or free. `p` is not read.
  /// Complexity: O(threads), a lock for each; but O(1) where it is not, or in a huge block.
  [[nodiscard]] bool owns(const void* p) const noexcept { return members_.owns(p); }

  /// Returns: whether the address lies in memory that is the calling thread's for blocks. Huge blocks are nobody's.
  /// `p` is not read.
  [[nodiscard]] bool is_mine(const void* p) const noexcept {
    const thread_heap* const mine = members_.known();
    return mine != nullptr && mine->blocks.owns(p);
  }

  /// What a thread has had, on its way to another: whoever adopts it frees these blocks as its own. What nobody adopts
  /// is left to the next thread that needs one. It may not outlive the heap.
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

  /// Returns: all blocks that the calling thread has allocated. Its next ones are apart from them.
  [[nodiscard]] detached detach() noexcept { return detached(*this, members_.detach()); }

  /// Effects: the blocks are as if the calling thread had allocated them; those that it had are left to the next.
  /// Expects: they are of this heap. That is looked at, whatever the level.
  void adopt(detached from) noexcept {
    ASHLAR_REQUIRE(from.heap_ == this, "adopted blocks of another heap");
    from.what_ = members_.adopt(from.what_);
  }

  /// Effects: sends the calling thread's frees of others' blocks.
  void flush() noexcept { members_.flush(); }

  /// Effects: takes all blocks back and gives all memory to the upstream but the threads' records, 16 KiB each.
  /// Expects: no other thread uses the heap; those that did may be ending.
  void release() noexcept { members_.release(); }

  /// Effects: gives memory back that no block needs, of whatever thread; but what other threads have at hand, and the
  /// frees that they have noted, stay with them. The calling thread keeps at most `retain_bytes` of its own.
  /// Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return members_.trim(retain_bytes); }

  /// Returns: bytes of segments and huge blocks held of the upstream.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return members_.space().held_bytes(); }
  /// Returns: heaps of threads that have ended, waiting for others.
  [[nodiscard]] std::size_t parked() const noexcept { return members_.parked(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return members_.space().upstream(); }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return members_.space().upstream(); }

  [[nodiscard]] friend bool operator==(const heap& a, const heap& b) noexcept { return &a == &b; }

  /// Expects: no thread allocates or frees meanwhile. Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept { return members_.invariant(); }

private:
  friend detail::heap_survey<heap>;

  [[nodiscard]] const members& parts() const noexcept { return members_; }

  // `otherwise()` where no block is at hand.
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment, Otherwise otherwise) {
    ASHLAR_REQUIRE(detail::is_power_of_two(alignment), "alignment is not a power of two");
    thread_heap* const mine = members_.recent();
    if (ASHLAR_LIKELY(mine != nullptr && bytes <= detail::size_classes::largest && alignment <= least_alignment))
      return mine->blocks.allocate_or(bytes, otherwise);
    return otherwise();
  }

  // Whether the block is of what the calling thread has of the heap that it used last: that address stands in the
  // segment. Expects: `p` is not a sampled address.
  [[nodiscard]] static ASHLAR_INLINE bool is_of(const thread_heap* mine, void* p) noexcept {
    return detail::segment::heap_of(p) == static_cast<const void*>(mine);
  }

  // Apart from the fast paths, which would else save registers for them.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate_excluding_cache(std::size_t bytes, std::size_t alignment) noexcept {
    thread_heap* const mine = members_.recent();
    if (ASHLAR_UNLIKELY(mine == nullptr)) return try_allocate_after_another(bytes, alignment);
    void* p = nullptr;
    if (ASHLAR_LIKELY(bytes <= detail::size_classes::largest && alignment <= least_alignment))
      p = mine->blocks.allocate_excluding_cache(bytes);
    else if (bytes <= detail::most_slices * detail::slice_bytes &&
             alignment <= detail::slice_bytes)  // a run, as a rule
      p = mine->blocks.try_allocate_unzeroed(bytes, alignment).data;
    return ASHLAR_LIKELY(p != nullptr) ? p : try_allocate_slow(bytes, alignment);
  }

  // Where it was another heap that the thread used last, or none.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate_after_another(std::size_t bytes, std::size_t alignment) noexcept {
    if (members_.known() == nullptr) return try_allocate_slow(bytes, alignment);
    return take(bytes, alignment, [=, this] { return try_allocate_slow(bytes, alignment); });
  }

  [[nodiscard]] ASHLAR_NOINLINE void* allocate_excluding_cache(std::size_t bytes, std::size_t alignment) {
    void* const p = try_allocate_excluding_cache(bytes, alignment);
    if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
    return p;
  }

  // The thread heap looks again at what was at hand: a sampled address may be, which is counted.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate_slow(std::size_t bytes, std::size_t alignment) noexcept {
    constexpr std::size_t most = detail::size_classes::largest;
    if (thread_heap* const mine = members_.recent(); mine != nullptr && bytes <= most && alignment <= most)
      if (void* const p = mine->blocks.try_allocate(bytes, alignment); p != nullptr) return p;
    return members_.allocate_by(bytes, alignment, [&](owner& from) { return from.try_allocate(bytes, alignment); });
  }

  // A block of another thread, or it was another heap that this one used last.
  ASHLAR_NOINLINE void deallocate_remote(void* p) noexcept {
    if (thread_heap* const mine = members_.recent(); ASHLAR_LIKELY(mine != nullptr))
      return mine->freer.defer_free(*owner::of(p), p);
    members_.deallocate_by(p, [&](owner& home) { home.deallocate(p); });
  }

  ASHLAR_NOINLINE void deallocate_slow(void* p) noexcept {
    if (p == nullptr) return;
    if (!checks && !detail::is_aligned(p, detail::window_bytes))
      if (thread_heap* const mine = members::latest(); is_of(mine, p)) return mine->blocks.deallocate(p);
    members_.deallocate_by(p, [&](owner& home) { home.deallocate(p); });
  }

  ASHLAR_NOINLINE void deallocate_slow(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!checks && p != nullptr) return deallocate_slow(p);
    if constexpr (checks)  // of whom else it may be is known under another lock
      if (thread_heap* const mine = members_.recent();
          mine != nullptr && mine->blocks.try_deallocate_cell(p, bytes, alignment))
        return;
    members_.deallocate_by(p, [&](owner& home) { home.deallocate(p, bytes, alignment); });
  }

  members members_;
};

static_assert(try_resource<heap<>> && owning_resource<heap<>> && releasable_resource<heap<>>);
static_assert(self_describing_resource<heap<>> && expanding_resource<heap<>> && thread_safe_resource<heap<>>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
