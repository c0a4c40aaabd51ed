// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of a heap, written once: on a few primitives of the deriving heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: `p`, unless it is null. Throws: `std::bad_alloc`.
[[nodiscard]] ASHLAR_INLINE void* block_or_throw(void* p, std::size_t bytes, std::size_t alignment) {
  if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
  return p;
}

/// The calls on blocks. `Heap::primitives()` has
///
///     take<Failure>(bytes, alignment), take_known<Bytes, Alignment>(), take_unzeroed(bytes, alignment) -> slice_run
///     put(p), put(p, bytes, alignment), put_known<Bytes, Alignment>(p)
///     expand(p, bytes, new_bytes, alignment)              the block was requested as `bytes`
///     resize(p, usable_bytes, new_bytes, alignment)       the requested size is unknown
///     move_pages(p, new_bytes, alignment)                 a larger block at another address without a copy, or null
///     size_of(p)
///
/// Thread safety: as the heap.
template <class Heap>
class heap_api {
public:
  /// Bytes: the alignment of every block.
  static constexpr std::size_t least_alignment = size_classes::granule;

  /// Returns: a block. Throws: `std::bad_alloc`. Expects: `alignment` is a power of two. Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    return on().template take<or_throw>(bytes, alignment);
  }

  /// As `allocate`, but null when memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return on().template take<or_null>(bytes, alignment);
  }

  /// Returns: a block whose size is known at compile time, at the cost of a pool's cell. Throws: `std::bad_alloc`.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    static_assert(is_power_of_two(Alignment));
    return on().template take_known<Bytes, Alignment>();
  }

  /// Returns: a block and its usable bytes; `deallocate` takes any size from `bytes` to those.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = allocate(bytes, alignment);
    return {p, usable_size(p)};
  }

  /// Returns: a block whose first `bytes` bytes are zero. Pages fresh from the system are not written to.
  /// Throws: `std::bad_alloc`.
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    return block_or_throw(try_allocate_zeroed(bytes, alignment), bytes, alignment);
  }

  /// As `allocate_zeroed`, but null when memory has run out. No lock is held while the block is cleared.
  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return zeroed(on().take_unzeroed(bytes, alignment), bytes);
  }

  /// Effects: takes a block back; nothing for null. Expects: the block is live and of this heap.
  ASHLAR_INLINE void deallocate(void* p) noexcept { on().put(p); }

  /// As `deallocate(p)`, and faster: the size gives the class. Expects: `p` is a block of this size and alignment, or
  /// `try_expand` resized it to `bytes`, or `bytes` lies between the request and the result of `allocate_at_least`. `p`
  /// is not null.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    on().put(p, bytes, alignment);
  }

  /// As `deallocate(p, bytes, alignment)`, with the class resolved at compile time.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    on().template put_known<Bytes, Alignment>(p);
  }

  /// Returns: whether the block at `p` has `new_bytes` bytes now, in place. Expects: it was allocated with `bytes` and
  /// `alignment`. A span grows into the free slices after it, and gives its tail back when it shrinks. Complexity:
  /// O(1), but for system calls of huge blocks.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return on().expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: as `try_expand` for a smaller size; false for a larger one.
  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return new_bytes <= bytes && try_expand(p, bytes, new_bytes, alignment);
  }

  /// As `try_expand`, for a block of any alignment whose size the caller does not know. Expects: it is live.
  [[nodiscard]] bool try_resize(void* p, std::size_t new_bytes) noexcept {
    return on().resize(p, usable_size(p), new_bytes, least_alignment);
  }

  /// Returns: a block of `new_bytes` bytes with the contents of the block at `p`, up to the smaller size; `p` itself if
  /// it can be resized in place. A null `p` is an empty block. Throws: `std::bad_alloc`; the block at `p` stays then.
  /// Complexity: O(1) in place, else O(bytes copied); a huge block moves by its pages.
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    return block_or_throw(try_reallocate(p, new_bytes, alignment), new_bytes, alignment);
  }

  /// As `reallocate`, but null when memory has run out.
  [[nodiscard]] ASHLAR_NOINLINE void* try_reallocate(void* p, std::size_t new_bytes,
                                                     std::size_t alignment = least_alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    std::size_t bytes = 0;
    if (p != nullptr) {
      bytes = usable_size(p);
      if (is_aligned(p, alignment) && on().resize(p, bytes, new_bytes, alignment)) return p;
      if (new_bytes > bytes)
        if (void* const pages = on().move_pages(p, new_bytes, alignment)) return pages;
    }
    void* const moved = try_allocate(new_bytes, alignment);
    if (moved == nullptr || p == nullptr) return moved;
    std::memcpy(moved, p, detail::min(bytes, new_bytes));
    deallocate(p);
    return moved;
  }

  /// Returns: the usable bytes of the block, at least the requested ones. Expects: it is live.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept { return on().size_of(p); }

protected:
  heap_api() = default;
  ~heap_api() = default;

private:
  [[nodiscard]] ASHLAR_INLINE auto& on() noexcept { return static_cast<Heap&>(*this).primitives(); }
  [[nodiscard]] ASHLAR_INLINE const auto& on() const noexcept { return static_cast<const Heap&>(*this).primitives(); }
};

/// The calls on all memory of a heap with one `engine`, its primitives: on `locked()`, its stores under its lock.
/// Thread safety: as the heap.
template <class Heap>
class heap_contents_api {
public:
  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  /// Complexity: O(1).
  [[nodiscard]] bool owns(const void* p) const noexcept { return on().locked()->owns(p); }

  /// Effects: calls `f(p, bytes)` for each live block: the blocks of each segment by address, then the huge ones. `f`
  /// may not use the heap. Throws: as `f`. Complexity: O(slabs and free cells).
  template <class F>
  void for_each_live(F f) {
    const auto in = on().drained();
    in->flush_caches();
    in->for_each_live(f);
  }

  /// Effects: calls `f(heap_region)` for each region held: the segments, each from its head on, then the huge blocks.
  /// `f` may not use the heap. Throws: as `f`. Complexity: O(slices and cells on free lists).
  template <class F>
  ASHLAR_INLINE_FOR_SIZE void inspect(F f) const {
    on().locked()->inspect(f);
  }

  /// Effects: takes all blocks back and gives all memory to the upstream. Complexity: O(segments and huge blocks).
  void release() noexcept { on().drained()->release(); }

  /// Effects: purges free memory down to `retain_bytes`: whole segments, the contents of free slices, and of whole free
  /// pages inside slabs. Returns: bytes given back. Complexity: O(slabs and free cells).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return on().drained()->trim(retain_bytes); }

  /// Returns: bytes of segments and huge blocks from the upstream.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return on().locked()->held_bytes(); }
  /// Returns: bytes from the upstream for tables, which `held_bytes` does not contain.
  [[nodiscard]] std::size_t table_bytes() const noexcept { return on().locked()->table_bytes(); }
  /// Returns: bytes of slabs, spans and huge blocks reused without a purge in between.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return on().locked()->reused_bytes(); }
  /// Returns: the number of segments held.
  [[nodiscard]] std::size_t segments() const noexcept { return on().locked()->segments(); }
  [[nodiscard]] const auto& upstream_resource() const noexcept { return on().upstream(); }

  /// Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept { return on().locked()->invariant(); }

protected:
  heap_contents_api() = default;
  ~heap_contents_api() = default;

private:
  [[nodiscard]] auto& on() noexcept { return static_cast<Heap&>(*this).primitives(); }
  [[nodiscard]] const auto& on() const noexcept { return static_cast<const Heap&>(*this).primitives(); }
};

}  // namespace ashlar::ASHLAR_ABI::detail
