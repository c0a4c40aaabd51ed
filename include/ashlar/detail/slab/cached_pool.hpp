// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal cells for any thread: shared slabs and the thread caches in front of them.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/cell_cache.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/retain_policy.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A pool that takes the thread cache as an argument of each call. Its users find the cache of a thread:
/// `shared_block_pool` and the pools behind `pool_allocator<T, thread_cached>`.
///
///   allocate   <- [ cache: cells <- cell batch <- up to 16 batches ] <- lock: [ slabs ] <- upstream
///   deallocate -> [ cache: cells -> batches of frees -> packets ] -> inbox -> [ slabs ] -> upstream
///
/// The levels that check for misuse cache no cells: each call takes the lock, and the bitmaps tell live cells from
/// free ones. Thread safety: any thread, each with a cache of its own or with none.
template <class Geometry, thread_safe_resource Upstream, basic_lockable Lock>
class cached_pool {
public:
  using slabs_type = shared_slabs<Geometry, Upstream, Lock>;
  using cache_type = cell_cache<slabs_type>;
  static constexpr bool caches = checking_level < checking::checked;

  constexpr cached_pool(const Geometry& geometry, retain_policy policy, Upstream upstream = {})
      : slabs_(geometry, policy, std::move(upstream)) {}

  /// Returns: a cell, or null if the cache has none: then call `allocate_slow`.
  [[nodiscard]] ASHLAR_INLINE void* take(cache_type& cache) noexcept {
    if constexpr (!caches) return take_shared();
    else return cache.take(slabs_);
  }

  /// Effects: takes a cell back. Returns: false if `deallocate_slow` must take it.
  [[nodiscard]] ASHLAR_INLINE bool put(cache_type& cache, void* cell) noexcept {
    if constexpr (!caches) return put_shared(cell);
    mark_free(cell, slabs_.cell_bytes());
    return cache.put(slabs_, cell);
  }

  /// @{ As above, for a caller without a cache: they fail, except at levels without caches.
  [[nodiscard]] ASHLAR_INLINE void* take_shared() noexcept {
    if constexpr (caches) return nullptr;
    else return slabs_.allocate_at_once();
  }
  [[nodiscard]] ASHLAR_INLINE bool put_shared(void* cell, [[maybe_unused]] std::size_t bytes = unsized) noexcept {
    if constexpr (caches) return false;
    else return slabs_.deallocate_at_once(cell, bytes);
  }
  /// @}

  /// Returns: a cell; `cache` is open, or null for a thread without one. It may have cells, if the caller found it
  /// late. Null, or throws as the upstream, if that has no memory left.
  template <failure Failure = or_throw>
  [[nodiscard]] ASHLAR_INLINE void* allocate_slow(cache_type* cache) noexcept(Failure == or_null) {
    if (!caches || cache == nullptr) return slabs_.template allocate<Failure>();
    void* const cell = take(*cache);
    return cell != nullptr ? cell : cache->template refill<Failure>(slabs_);
  }

  /// Effects: takes a cell back, freed without a size or with one that fits it; `cache` is as for `allocate_slow`.
  ASHLAR_INLINE void deallocate_slow(cache_type* cache, void* cell, std::size_t bytes = unsized) noexcept {
    if (!caches || cache == nullptr) slabs_.deallocate(cell, bytes);
    else if (!put(*cache, cell)) cache->put_slow(slabs_, cell);
  }

  /// Effects: gives a block that no cell can hold back to the upstream. A cell is reported, at every level.
  void deallocate_larger(void* p, const freed_extent& given) noexcept { slabs_.deallocate_larger(p, given); }

  /// Effects: opens the calling thread's cache for cells, until `close`.
  void open(cache_type& cache) noexcept {
    slabs_.with_store([&](auto&) {
      cache.open();
      caches_.push_back(&cache);
    });
  }

  /// Effects: gives back the cache's cells; the memory of the cache may go.
  void close(cache_type& cache) noexcept {
    slabs_.with_store([&](auto&) { caches_.erase(&cache); });  // first: no later search may find it
    cache.close(slabs_);
  }

  /// Effects: gives back the cells of the calling thread's cache.
  void flush(cache_type& cache) noexcept { cache.flush(slabs_); }

  /// As above, for all caches of the calling thread. Complexity: O(caches).
  void flush() noexcept {
    for (cache_type* each = next_of_mine(nullptr); each != nullptr; each = next_of_mine(each)) each->flush(slabs_);
  }

  /// Effects: takes all cells back, live ones included, and gives all slabs back. Expects: no other thread uses the
  /// pool.
  void release() noexcept {
    for (cache_type* each = caches_.front(); each != nullptr; each = each->next) each->shrink(slabs_);
    slabs_.release();
  }

  /// Effects: holds the lock, so that a fork finds it free.
  void before_fork() noexcept { slabs_.lock().lock(); }

  void after_fork_in_parent() noexcept { slabs_.lock().unlock(); }

  /// Effects: forgets the caches of all other threads, which do not exist in the child. Their cached cells stay taken.
  /// Reads those caches: their memory is still mapped. Complexity: O(caches).
  void after_fork_in_child() noexcept {
    list<cache_type> mine;
    for (cache_type *each = caches_.front(), *next = nullptr; each != nullptr; each = next) {
      next = each->next;
      if (each->is_mine()) mine.push_back(each);
    }
    caches_ = mine;
    slabs_.lock().unlock();
  }

  /// Returns: the number of live cells plus cells in caches of other threads.
  [[nodiscard]] std::size_t live() noexcept {
    std::size_t cells = 0;
    slabs_.with_store([&](auto& store) {
      cells = store.slabs().taken();
      for (const cache_type* each = caches_.front(); each != nullptr; each = each->next)
        if (each->is_mine()) cells -= each->held_cells();
    });
    return cells;
  }

  /// Effects: makes sure that `cells` cells need no upstream call, until `trim`.
  void reserve(std::size_t cells) {
    std::size_t bytes = 0;
    if (!checked_mul(cells, slabs_.cell_bytes(), bytes) || bytes > max_block_bytes)
      throw_bad_alloc(bytes, slabs_.geometry().cell_alignment());
    slabs_.reserve(cells);
  }

  /// Effects: retains empty slabs by `policy` from now on; surplus ones go back at once.
  void retain(retain_policy policy) noexcept { slabs_.retain(policy); }

  /// Effects: gives empty slabs back except for `retain_bytes` of them, and orders the others by address; other
  /// threads keep their cached cells. Returns: bytes given back. Complexity: O(slabs).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return slabs_.trim(retain_bytes); }

  /// Returns: whether `p` points into a cell, live or free. Complexity: expected O(log slabs).
  [[nodiscard]] bool owns(const void* p) noexcept {
    bool found = false;
    slabs_.with_store([&](auto& store) { found = store.slabs().find(slabs_.geometry(), p) != nullptr; });
    return found;
  }

  [[nodiscard]] std::size_t capacity() noexcept {
    return slabs_.count([](const slab_set& set) { return set.capacity(); });
  }
  [[nodiscard]] std::size_t slabs() noexcept {
    return slabs_.count([](const slab_set& set) { return set.slabs(); });
  }
  [[nodiscard]] std::size_t held_bytes() noexcept { return slabs() * slab_bytes(); }
  [[nodiscard]] std::size_t retained_bytes() noexcept {
    return slabs_.count([](const slab_set& set) { return set.empty_slabs(); }) * slab_bytes();
  }
  [[nodiscard]] std::size_t cell_bytes() const noexcept { return slabs_.cell_bytes(); }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return slabs_.geometry().slab_bytes(); }
  [[nodiscard]] const slab_geometry& geometry() const noexcept { return slabs_.geometry(); }
  [[nodiscard]] Upstream& upstream() noexcept { return slabs_.upstream(); }

  /// Expects: no thread allocates or frees at the same time. Complexity: O(slabs and their bitmap words, cached
  /// cells).
  [[nodiscard]] bool invariant() noexcept {
    bool good = caches_.invariant();
    slabs_.with_store([&](auto& store) { good = good && store.slabs().invariant(); });
    for (const cache_type* each = caches_.front(); each != nullptr; each = each->next)
      good = good && each->invariant(slabs_);
    return good;
  }

private:
  // Returns: the calling thread's next cache after `last`, or its first if that is null; null if there is none.
  [[nodiscard]] cache_type* next_of_mine(const cache_type* last) noexcept {
    cache_type* found = nullptr;
    slabs_.with_store([&](auto&) {
      found = last != nullptr ? last->next : caches_.front();
      while (found != nullptr && !found->is_mine()) found = found->next;
    });
    return found;
  }

  slabs_type slabs_;
  list<cache_type> caches_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
