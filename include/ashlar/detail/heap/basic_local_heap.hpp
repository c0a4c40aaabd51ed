// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The API and the fast paths of a heap: a thread cache in front of a core with everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/cell_store.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/heap_faults.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// The API of a heap over a `Core`: a `heap_core`, or one that does more in the same calls. Everything behind the
/// thread cache belongs to the core, where the calls of several threads meet. Each call begins with the scope of a
/// whole call, a lock where the core has one. Thread safety: that of the core; without one, none.
template <class Core>
class basic_local_heap {
public:
  /// Bytes: the alignment of every block.
  static constexpr std::size_t least_alignment = size_classes::granule;

  basic_local_heap(const basic_local_heap&) = delete;  // live blocks belong to it
  basic_local_heap& operator=(const basic_local_heap&) = delete;

  /// Returns: a block. Throws: `std::bad_alloc`. Expects: `alignment` is a power of two. Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment = least_alignment) {
    const scope held(core_.call_lock());
    return take<or_throw>(bytes, alignment);
  }

  /// As `allocate`, but null when memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    const scope held(core_.call_lock());
    return take<or_null>(bytes, alignment);
  }

  /// Returns: a block whose size is known at compile time, at the cost of a pool's cell. Throws: `std::bad_alloc`.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    static_assert(is_power_of_two(Alignment));
    constexpr std::size_t size_class = class_of_request(Bytes, Alignment);
    const scope held(core_.call_lock());
    if constexpr (size_class == size_classes::none) return take<or_throw>(Bytes, Alignment);
    else return take_cell_or(size_class, Bytes, [=, this] { return take_sampled<or_throw>(size_class, Bytes); });
  }

  /// Returns: a block and its usable bytes; `deallocate` takes any size from `bytes` to those.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment = least_alignment) {
    const scope held(core_.call_lock());
    void* const p = take<or_throw>(bytes, alignment);
    return {p, size_of(p)};
  }

  /// Returns: a block whose first `bytes` bytes are zero. Pages fresh from the system are not written to.
  /// Throws: `std::bad_alloc`.
  [[nodiscard]] void* allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) {
    void* const p = try_allocate_zeroed(bytes, alignment);
    if (ASHLAR_UNLIKELY(p == nullptr)) throw_bad_alloc(bytes, alignment);
    return p;
  }

  [[nodiscard]] void* try_allocate_zeroed(std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    return zeroed(try_allocate_unzeroed(bytes, alignment), bytes);
  }

  /// Effects: takes a block back; nothing for null. Expects: the block is live and of this heap.
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    const scope held(core_.call_lock());
    put(p);
  }

  /// As `deallocate(p)`, and faster: the size gives the class. Expects: `p` is a block of this size and alignment, or
  /// `try_expand` resized it to `bytes`, or `bytes` lies between the request and the result of `allocate_at_least`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment = least_alignment) noexcept {
    const scope held(core_.call_lock());
    const std::size_t size_class = class_of_request(bytes, alignment);
    if constexpr (checking_level >= checking::checked) core_.checks().end_life(p, bytes, alignment, size_class);
    if (ASHLAR_UNLIKELY(is_sampled(p))) return deallocate_sampled(p);
    cache_cell(p, size_class);
  }

  /// As `deallocate(p, bytes, alignment)`, with the class resolved at compile time.
  template <std::size_t Bytes, std::size_t Alignment = least_alignment>
  ASHLAR_INLINE void deallocate(void* p) noexcept {
    constexpr std::size_t size_class = class_of_request(Bytes, Alignment);
    const scope held(core_.call_lock());
    if constexpr (checking_level >= checking::checked) core_.checks().end_life(p, Bytes, Alignment, size_class);
    if (ASHLAR_UNLIKELY(is_sampled(p))) return deallocate_sampled(p);
    cache_cell(p, size_class);
  }

  /// Returns: whether the block at `p` has `new_bytes` bytes now, in place. Expects: it was allocated with `bytes` and
  /// `alignment`. A span grows into the free slices after it, and gives its tail back when it shrinks.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(core_.call_lock());
    const std::size_t size_class = class_of_request(bytes, alignment);
    if constexpr (checking_level >= checking::checked)
      core_.checks(using_block).expect(p, bytes, alignment, size_class);
    return core_.resize(p, size_class, class_of_request(new_bytes, alignment), new_bytes);
  }

  /// Returns: as `try_expand` for a smaller size; false for a larger one.
  [[nodiscard]] bool try_shrink(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    return new_bytes <= bytes && try_expand(p, bytes, new_bytes, alignment);
  }

  /// Returns: a block of `new_bytes` bytes with the contents of the block at `p`, up to the smaller size; `p` itself if
  /// it can be resized in place. A null `p` is an empty block. Throws: `std::bad_alloc`; the block at `p` stays then.
  [[nodiscard]] void* reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) {
    void* const moved = try_reallocate(p, new_bytes, alignment);
    if (ASHLAR_UNLIKELY(moved == nullptr)) throw_bad_alloc(new_bytes, alignment);
    return moved;
  }

  /// As `reallocate`, but null when memory has run out.
  [[nodiscard]] void* try_reallocate(void* p, std::size_t new_bytes, std::size_t alignment = least_alignment) noexcept {
    const scope held(core_.call_lock());
    if (p == nullptr) return take<or_null>(new_bytes, alignment);
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t bytes = size_of(p, freeing_block);
    const std::size_t size_class = class_of_block(p), wanted = class_of_request(new_bytes, alignment);
    if (is_aligned(p, alignment) && core_.resize(p, size_class, wanted, new_bytes)) return p;
    if (wanted == size_classes::none && new_bytes > bytes)
      if (void* const pages = core_.move_huge(p, new_bytes, alignment)) return pages;
    void* const moved = take<or_null>(new_bytes, alignment);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, p, detail::min(bytes, new_bytes));
    put(p);
    return moved;
  }

  /// Returns: the usable bytes of the block, at least the requested ones. Expects: it is live.
  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    const scope held(core_.call_lock());
    return size_of(p);
  }

  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const scope held(core_.call_lock());
    return core_.owns(p);
  }

  /// Effects: calls `f(p, bytes)` for each live block: the blocks of each segment by address, then the huge ones. `f`
  /// may not use the heap. Complexity: O(slabs and free cells).
  template <class F>
  void for_each_live(F f) {
    const scope held(core_.call_lock());
    core_.flush_caches(lists_);
    core_.for_each_live(std::move(f));
  }

  /// Effects: calls `f(heap_region)` for each region held: the segments, each from its head on, then the huge blocks.
  /// `f` may not use the heap. Complexity: O(slices and cells on free lists).
  template <class F>
  void inspect(F f) const {
    const scope held(core_.call_lock());
    core_.inspect(std::move(f), lists_);
  }

  /// Effects: takes all blocks back and gives all memory to the upstream.
  void release() noexcept {
    const scope held(core_.call_lock());
    lists_.clear();
    core_.release();
  }

  /// Effects: purges free memory down to `retain_bytes`: whole segments, the contents of free slices, and of whole free
  /// pages inside slabs. Returns: bytes given back. Complexity: O(slabs and free cells).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const scope held(core_.call_lock());
    return core_.trim(retain_bytes, lists_);
  }

  /// Returns: bytes from the upstream.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    const scope held(core_.call_lock());
    return core_.held_bytes();
  }
  /// Returns: bytes of these for tables.
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    const scope held(core_.call_lock());
    return core_.table_bytes();
  }
  /// Returns: bytes of slabs, spans and huge blocks reused without a purge in between.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    const scope held(core_.call_lock());
    return core_.reused_bytes();
  }
  [[nodiscard]] std::size_t segments() const noexcept { return core_.segments(); }
  [[nodiscard]] const typename Core::upstream_type& upstream_resource() const noexcept { return core_.upstream(); }

  /// Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept {
    const scope held(core_.call_lock());
    return core_.invariant(lists_);
  }

protected:
  using scope = check_scope<typename Core::call_lock_type>;

  template <class... Args>
  explicit basic_local_heap(Args&&... args) : core_(std::forward<Args>(args)..., this) {}
  ~basic_local_heap() = default;

  [[nodiscard]] Core& core() noexcept { return core_; }
  [[nodiscard]] const Core& core() const noexcept { return core_; }

  // As `try_allocate`; the result also tells whether the block is zero.
  [[nodiscard]] slice_run try_allocate_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    const scope held(core_.call_lock());
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t size_class = class_of_request(bytes, alignment);
    if (size_class == size_classes::none) return take_large(bytes, alignment);
    return {static_cast<std::byte*>(take_cell<or_null>(size_class, bytes)), false};
  }

  // As `deallocate`, but false, without an effect, when the cell alone does not suffice.
  [[nodiscard]] ASHLAR_INLINE bool try_deallocate_cell(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const scope held(core_.call_lock());
    const std::size_t size_class = class_of_request(bytes, alignment);
    if (is_sampled(p) || !core_.checks().ends_known_cell(p, bytes, size_class)) return false;
    cache_cell(p, size_class);
    return true;
  }

  // As `try_expand`, without the present size.
  [[nodiscard]] bool try_resize(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(core_.call_lock());
    if constexpr (checking_level >= checking::checked) static_cast<void>(size_of(p, freeing_block));
    return core_.resize(p, class_of_block(p), class_of_request(new_bytes, alignment), new_bytes);
  }

  // Returns: the new address of a huge block resized to `new_bytes` by moving its pages; null if `p` is not huge, or
  // its pages cannot move. Expects: the block is smaller.
  [[nodiscard]] void* try_move(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(core_.call_lock());
    return core_.move_huge(p, new_bytes, alignment);
  }

  /// Effects: moves all free cells to their slabs, and joins free slices.
  ASHLAR_COLD void flush_caches() noexcept {
    const scope held(core_.call_lock());
    core_.flush_caches(lists_);
  }

  /// Returns: a cached cell without a sampled address, else the result of `otherwise()`.
  template <class Otherwise>
  [[nodiscard]] ASHLAR_INLINE void* take_cell_or(std::size_t size_class, std::size_t bytes, Otherwise otherwise) {
    free_lists* const lists = lists_in_register();
    if constexpr (has_no_links)
      if (void* const cell = core_.take_cell_of_batch(size_class, *lists)) return handed_out(cell, size_class, bytes);
    void* const p = lists->top_of(size_class);
    if (ASHLAR_UNLIKELY(is_sampled(p))) return otherwise();
    if constexpr (checking_level >= checking::checked) expect_link(p, size_class, core_.name());
    lists->pop_top(size_class, p);
    return handed_out(p, size_class, bytes);
  }

  // After the call above: the cell at a sampled address, or, of an empty free list, one from behind it without a lock.
  [[nodiscard]] ASHLAR_INLINE void* take_excluding_cache(std::size_t size_class, std::size_t bytes) noexcept {
    void* p = lists_.pop(size_class);
    if (p != nullptr) core_.count_taken(size_class);
    else p = core_.take_cell_excluding_cache(size_class, lists_);
    return ASHLAR_LIKELY(p != nullptr) ? handed_out(p, size_class, bytes) : nullptr;
  }

  /// Effects: forgets the cached cells, which stay taken.
  void forget_cache() noexcept { lists_.clear(); }

private:
  // A link in a dead cell could be forged: a cell goes to its bitmap at once, as in a pool.
  static constexpr bool has_no_links = checking_level >= checking::hardened;

  enum failure { or_throw, or_null };

  // Without the register each instruction holds the address of a global heap, which costs 1.5 ns a pair.
  [[nodiscard]] ASHLAR_INLINE free_lists* lists_in_register() noexcept {
    free_lists* lists = &lists_;
    ASHLAR_IN_REGISTER(lists);
    return lists;
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (ASHLAR_LIKELY(with_canary(bytes) <= size_classes::largest && alignment <= least_alignment))
      return take_cell<Failure>(size_classes::of(with_canary(bytes)), bytes);
    return take_slow<Failure>(bytes, alignment);
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* take_cell(std::size_t size_class, std::size_t bytes) noexcept(Failure == or_null) {
    return take_cell_or(size_class, bytes, [=, this] { return take_sampled<Failure>(size_class, bytes); });
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* take_sampled(std::size_t size_class, std::size_t bytes) noexcept(Failure == or_null) {
    void* p = lists_.top_of(size_class);
    if (p != nullptr)
      expect_link(p, size_class, core_.name()), lists_.pop_top(size_class, p), core_.count_taken(size_class);
    else if (p = take_cold(size_class); p == nullptr) return failed<Failure>(bytes, least_alignment);
    return handed_out(p, size_class, bytes);
  }

  [[nodiscard]] ASHLAR_COLD void* take_cold(std::size_t size_class) noexcept {
    if (void* const p = core_.take_cell(size_class, lists_); p != nullptr) return p;
    core_.flush_caches(lists_);
    return core_.take_cell(size_class, lists_);
  }

  // Over-aligned or large.
  template <failure Failure>
  [[nodiscard]] ASHLAR_NOINLINE void* take_slow(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    if (bytes <= size_classes::largest)
      if (const std::size_t size_class = class_of_request(bytes, alignment); size_class != size_classes::none)
        return take_cell<Failure>(size_class, bytes);
    void* const p = take_large(bytes, alignment).data;
    return ASHLAR_LIKELY(p != nullptr) ? p : failed<Failure>(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_INLINE slice_run take_large(std::size_t bytes, std::size_t alignment) noexcept {
    slice_run got = core_.take_large(with_canary(bytes), alignment, lists_);
    if (ASHLAR_UNLIKELY(got.data == nullptr)) got = core_.take_large_retry(with_canary(bytes), alignment, lists_);
    if constexpr (checking_level >= checking::hardened)
      if (got.data != nullptr) core_.sizes().hand_out_large(got.data, bytes);
    return got;
  }

  template <failure Failure>
  [[nodiscard]] static void* failed(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    if constexpr (Failure == or_throw) throw_bad_alloc(bytes, alignment);
    else return nullptr;
  }

  ASHLAR_INLINE void* handed_out(void* p, std::size_t size_class, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (marks_memory) mark_live(p, size_classes::bytes_of(size_class));
    if constexpr (checking_level >= checking::hardened) core_.sizes().hand_out_cell(p, bytes);
    if constexpr (checking_level >= checking::checked) segment::flip_live(p);
    return p;
  }

  ASHLAR_INLINE void cache_cell(void* p, std::size_t size_class) noexcept {
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    if constexpr (has_no_links) return core_.give_cell(p);
    lists_in_register()->push(size_class, p);
  }

  [[nodiscard]] std::size_t size_of(const void* p, const block_use& use = using_block) const noexcept {
    if constexpr (checking_level >= checking::checked)
      static_cast<void>(core_.checks(use).size_of(const_cast<void*>(p)));
    return core_.usable_size(p);
  }

  ASHLAR_INLINE void put(void* p) noexcept {
    if constexpr (checking_level >= checking::checked)
      if (p != nullptr) core_.checks().end_life(p);
    if (ASHLAR_UNLIKELY(is_sampled(p))) return deallocate_sampled(p);
    cache_cell(p, segment::owner_of(p));
  }

  // A cell at a sampled address, null, a span or a huge block.
  ASHLAR_NOINLINE void deallocate_sampled(void* p) noexcept {
    if (p == nullptr) return;
    if (is_aligned(p, window_bytes)) return core_.give_huge(p);
    const std::size_t size_class = segment::owner_of(p);
    if (size_class == size_classes::none) return core_.give_run(p, lists_);
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    if constexpr (has_no_links) return core_.give_sampled(p, size_class, lists_);
    lists_.push(size_class, p);
    core_.count_freed(size_class, lists_);
  }

  alignas(64) free_lists lists_;
  Core core_;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
