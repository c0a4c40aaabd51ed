// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for one thread: a thread cache in front of slabs, spans of slices and huge blocks.
#pragma once

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

/// A heap of one thread.
///
///     deallocate(p) -> free list -> sweep: bitmaps -> empty slabs -> slices -> upstream
///     allocate(n)   <- free list <- cell batch <- slab <- span of slices <- segment <- upstream
///
/// A block of up to 32 KiB is a cell of one of 76 size classes. A block of up to 63 slices of 64 KiB is a span. A
/// larger block is an extent of the upstream. Blocks hold no metadata: it stands in the head of their 4 MiB segment.
/// The alignment is at least 16 bytes. `deallocate(p)` finds the size class by one load. Live blocks end with
/// the heap. Thread safety: none. Nothing is allocated before the first block.
template <resource Upstream>
class local_heap : public detail::heap_api<local_heap<Upstream>>,
                   public detail::heap_contents_api<local_heap<Upstream>> {
  using calls = detail::heap_api<local_heap>;
  using contents = detail::heap_contents_api<local_heap>;

public:
  local_heap() : local_heap(heap_options{}) {}
  explicit local_heap(const heap_options& options, Upstream upstream = {}) : engine_(options, std::move(upstream)) {}
  explicit local_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : local_heap(heap_options{}, std::move(upstream)) {}

  /// Bytes: the alignment of every block.
  using calls::least_alignment;

  /// `void* allocate(std::size_t bytes, std::size_t alignment = least_alignment)`
  /// Returns: a block. Throws: `std::bad_alloc`. Expects: `alignment` is a power of two. Complexity: O(1) amortised.
  ///
  /// `void* allocate<std::size_t Bytes, std::size_t Alignment = least_alignment>()`
  /// The same for a size known at compile time, at the cost of a pool's cell.
  using calls::allocate;

  /// `void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept`
  /// As `allocate`, but null when memory has run out.
  using calls::try_allocate;

  /// `block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment)`
  /// Returns: a block and its usable bytes; `deallocate` takes any size from `bytes` to those. Throws: as `allocate`.
  using calls::allocate_at_least;

  /// `void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment)`
  /// Returns: a block whose first `bytes` bytes are zero. Pages fresh from the system are not written to.
  /// Throws: `std::bad_alloc`.
  using calls::allocate_zeroed;

  /// `void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept`
  /// As `allocate_zeroed`, but null when memory has run out.
  using calls::try_allocate_zeroed;

  /// `void deallocate(void* p) noexcept`
  /// Effects: takes a block back; nothing for null. Expects: the block is live and of this heap. Complexity: O(1)
  /// amortised; a call sweeps at most `max_cached_cells` cells.
  ///
  /// `void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept`
  /// The same, and faster: the size gives the class. Expects: `p` is a block of this size and alignment, or
  /// `try_expand` resized it to `bytes`, or `bytes` lies between the request and the result of `allocate_at_least`. `p`
  /// is not null.
  ///
  /// `void deallocate<std::size_t Bytes, std::size_t Alignment = least_alignment>(void* p) noexcept`
  /// The same, with the class resolved at compile time.
  using calls::deallocate;

  /// `bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept`
  /// Returns: whether the block at `p` has `new_bytes` bytes now, in place. Expects: it was allocated with `bytes` and
  /// `alignment`. A span grows into the free slices after it, and gives its tail back when it shrinks. Complexity:
  /// O(1), but for system calls of huge blocks.
  using calls::try_expand;

  /// `bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept`
  /// Returns: as `try_expand` for a smaller size; false for a larger one.
  using calls::try_shrink;

  /// `bool try_resize(void* p, std::size_t new_bytes) noexcept`
  /// As `try_expand`, for a block of any alignment whose size the caller does not know. Expects: it is live.
  using calls::try_resize;

  /// `void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment)`
  /// Returns: a block of `new_bytes` bytes with the contents of the block at `p`, up to the smaller size; `p` itself if
  /// it can be resized in place. A null `p` is an empty block. Throws: `std::bad_alloc`; the block at `p` stays then.
  /// Complexity: O(1) in place, else O(bytes copied); a huge block moves by its pages.
  using calls::reallocate;

  /// `void* try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) noexcept`
  /// As `reallocate`, but null when memory has run out.
  using calls::try_reallocate;

  /// `std::size_t usable_size(const void* p) const noexcept`
  /// Returns: the usable bytes of the block, at least the requested ones. Expects: it is live.
  using calls::usable_size;

  /// `bool owns(const void* p) const noexcept`
  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  /// Complexity: O(1).
  using contents::owns;

  /// `void for_each_live(F f)`
  /// Effects: calls `f(p, bytes)` for each live block: the blocks of each segment by address, then the huge ones. `f`
  /// may not use the heap. Throws: as `f`. Complexity: O(slabs and free cells).
  using contents::for_each_live;

  /// `void inspect(F f) const`
  /// Effects: calls `f(heap_region)` for each region held: the segments, each from its head on, then the huge blocks.
  /// `f` may not use the heap. Throws: as `f`. Complexity: O(slices and cells on free lists).
  using contents::inspect;

  /// `void release() noexcept`
  /// Effects: takes all blocks back and gives all memory to the upstream. Complexity: O(segments and huge blocks).
  using contents::release;

  /// `std::size_t trim(std::size_t retain_bytes = 0) noexcept`
  /// Effects: purges free memory down to `retain_bytes`: whole segments, the contents of free slices, and of whole free
  /// pages inside slabs. Returns: bytes given back. Complexity: O(slabs and free cells).
  using contents::trim;

  /// `std::size_t held_bytes() const noexcept`
  /// Returns: bytes of segments and huge blocks from the upstream.
  using contents::held_bytes;
  /// `std::size_t table_bytes() const noexcept`
  /// Returns: bytes from the upstream for tables, which `held_bytes` does not contain.
  using contents::table_bytes;
  /// `std::uint64_t reused_bytes() const noexcept`
  /// Returns: bytes of slabs, spans and huge blocks reused without a purge in between.
  using contents::reused_bytes;
  /// `std::size_t segments() const noexcept`
  /// Returns: the number of segments held.
  using contents::segments;
  /// `const Upstream& upstream_resource() const noexcept`
  using contents::upstream_resource;
  /// `bool invariant() const noexcept`
  /// Complexity: O(slabs and free cells).
  using contents::invariant;

  [[nodiscard]] friend bool operator==(const local_heap& a, const local_heap& b) noexcept { return &a == &b; }

private:
  friend calls;
  friend contents;

  [[nodiscard]] ASHLAR_INLINE auto& primitives() noexcept { return engine_; }
  [[nodiscard]] ASHLAR_INLINE const auto& primitives() const noexcept { return engine_; }

  detail::local_engine<Upstream> engine_;
};

static_assert(try_resource<local_heap<>> && owning_resource<local_heap<>> && releasable_resource<local_heap<>>);
static_assert(self_describing_resource<local_heap<>> && expanding_resource<local_heap<>>);
static_assert(at_least_resource<local_heap<>>);

}  // namespace ashlar::ASHLAR_ABI
