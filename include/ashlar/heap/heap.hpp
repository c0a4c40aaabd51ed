// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for any thread: a thread heap for each, remote frees in parcels, one map of address space.
#pragma once

#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap_threads/basic_heap.hpp>
#include <ashlar/detail/heap_threads/thread_heap_registry.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// A heap for any thread.
///
///     thread 1 -> thread_heap: engine, parcel_sender -----+
///     thread 2 -> thread_heap  <-- parcels of frees --    +--> [ lock: shared_extent_map ] --> upstream
///     without one, and huge blocks -> [ lock: common ] ---+
///
/// A thread gets a `thread_heap` at its first call and leaves it, with its live blocks, to the next thread when it
/// ends. A thread that only frees costs the upstream 12 KiB. A thread that is ending, or that gets no memory, shares
/// the common heap under a lock. The fast paths are as in `local_heap`, and on x86-64 three instructions more: two
/// thread-local words hold the heap last used and its thread heap. A sized free has five more, since it still looks up
/// the owner of the block. By clang, `allocate` has 17 instructions for 14, `deallocate(p)` 16 for 13,
/// `allocate<Bytes>` 11 for 8. At level `fast` the fast paths take no lock, and their only atomics are plain loads. A
/// thread that alternates between two heaps calls a function at each change, which finds the other heap in a table of
/// the thread. Thread safety: any thread; the destructor and `release` expect that no other thread uses the heap, and
/// that all uses have happened before. Nothing is allocated before the first block.
template <thread_safe_resource Upstream>
class heap : public detail::basic_heap<Upstream, detail::threads_of_any_heap> {
  using calls = detail::basic_heap<Upstream, detail::threads_of_any_heap>;

public:
  heap() : heap(heap_options{}) {}
  explicit heap(const heap_options& options, Upstream upstream = {}) : calls(options, std::move(upstream)) {}
  explicit heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : heap(heap_options{}, std::move(upstream)) {}
  ~heap() = default;

  /// @{ As in `local_heap`, by any thread. No lock is held while a block is cleared.
  using calls::allocate;
  using calls::allocate_at_least;
  using calls::allocate_zeroed;
  using calls::deallocate;
  using calls::least_alignment;
  using calls::reallocate;
  using calls::try_allocate;
  using calls::try_allocate_zeroed;
  using calls::try_expand;
  using calls::try_reallocate;
  using calls::try_resize;
  using calls::try_shrink;
  using calls::usable_size;
  /// @}

  /// `bool owns(const void* p) const noexcept`
  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  /// Complexity: O(threads), a lock for each; O(1) for foreign addresses and huge blocks.
  using calls::owns;
  /// `bool is_mine(const void* p) const noexcept`
  /// Returns: whether the address lies in memory of the calling thread for blocks. Huge blocks belong to no thread.
  /// `p` is not read.
  using calls::is_mine;

  /// The blocks of a thread in transit to another, which frees them as its own after `adopt`. Blocks that are not
  /// adopted go to the next thread without a heap. A move-only value. Lifetime: the heap outlives it.
  using detached = typename calls::detached;
  /// `detached detach() noexcept`
  /// Returns: all blocks that the calling thread has allocated, separate from its next ones. Complexity: O(1), a lock.
  using calls::detach;
  /// `void adopt(detached from) noexcept`
  /// Effects: makes the calling thread the owner of the blocks; its former ones go to the next thread.
  /// Expects: they are of this heap, which is checked at every level. Complexity: O(1), a lock.
  using calls::adopt;

  /// `void flush() noexcept`
  /// Effects: sends the remote frees of the calling thread. Complexity: O(owners of the noted cells), 32 at most.
  using calls::flush;
  /// `void release() noexcept`
  /// Effects: takes all blocks back and gives all memory to the upstream but the threads' records: 12 KiB each.
  /// Expects: no other thread uses the heap; those that did may be ending. Complexity: O(threads + segments).
  using calls::release;
  /// `std::size_t trim(std::size_t retain_bytes = 0) noexcept`
  /// Effects: purges free memory of all threads, except the thread caches and unsent remote frees of other threads. The
  /// calling thread retains at most `retain_bytes`.
  /// Returns: bytes given back. Complexity: O(threads + slabs and free cells), a lock for each thread.
  using calls::trim;

  /// `void for_each_live(F f)`
  /// Effects: calls `f(p, bytes)` for each live block; at level `fast` also for cached and noted cells of other
  /// threads. Parts are visited one after the other: no single moment is described. Callbacks run under a part's lock,
  /// and forks wait; they may use pools, but not a heap whose callbacks use this one. `f` may not use the heap itself.
  /// Throws: as `f`. Complexity: O(slabs and free cells).
  using calls::for_each_live;
  /// `void inspect(F f) const`
  /// Effects: calls `f(heap_region)`, or `f(heap_region, is_mine)`, for each region held: the segments, each from its
  /// head on, then the huge blocks, among them the cached segments. Parts and callbacks are as in `for_each_live`: no
  /// single moment is described, and `f` may not use the heap. Throws: as `f`. Complexity: O(slices and cells on free
  /// lists).
  using calls::inspect;

  /// `std::size_t held_bytes() const noexcept`
  /// Returns: bytes of segments and huge blocks held from the upstream.
  using calls::held_bytes;
  /// `std::size_t table_bytes() const noexcept`
  /// Returns: bytes from the upstream outside of segments and huge blocks: tables, and the threads' records.
  using calls::table_bytes;
  /// `std::uint64_t reused_bytes() const noexcept`
  /// Returns: as in `local_heap`, over all threads. Complexity: O(threads), a lock for each.
  using calls::reused_bytes;
  /// `std::size_t cached_bytes() const noexcept`
  /// Returns: approximate bytes of cached cells and spans of other threads, which count as live. A sampled address
  /// stands for up to 64 KiB of its class, which bounds the error for each class and thread. Complexity: as above. From
  /// level `checked` on 0.
  using calls::cached_bytes;
  /// `std::size_t parked() const noexcept`
  /// Returns: thread heaps of ended threads that wait for adoption.
  using calls::parked;
  /// `const Upstream& upstream_resource() const noexcept`
  /// `Upstream& upstream_resource() noexcept`
  using calls::upstream_resource;
  /// `bool invariant() const noexcept`
  /// Expects: no thread allocates or frees meanwhile. Complexity: O(slabs and free cells).
  using calls::invariant;
};

ASHLAR_COMPILED(class detail::extent_map<page_resource>);
ASHLAR_COMPILED(class detail::extent_map<detail::extent_resource<page_resource>>);
ASHLAR_COMPILED(class detail::span_store<detail::extent_resource<page_resource>>);
ASHLAR_COMPILED(class detail::small_store<detail::extent_resource<page_resource>>);
ASHLAR_COMPILED(class detail::purge<detail::extent_resource<page_resource>>);
ASHLAR_COMPILED(class detail::thread_heap_registry<page_resource>);
ASHLAR_COMPILED(class detail::heap_api<detail::basic_heap<page_resource, detail::threads_of_any_heap>>);
ASHLAR_COMPILED(class detail::basic_heap<page_resource, detail::threads_of_any_heap>);
ASHLAR_COMPILED(class heap<page_resource>);

static_assert(try_resource<heap<>> && owning_resource<heap<>> && releasable_resource<heap<>>);
static_assert(self_describing_resource<heap<>> && expanding_resource<heap<>> && thread_safe_resource<heap<>>);

}  // namespace ashlar::ASHLAR_ABI
