// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal cells for any thread: shared slabs and the thread caches in front of them.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/slab/cached_cells.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The thread cache of `Slabs`, a `shared_slabs`. `cached_cells` serves cells as in a pool of one thread; a `batcher`
/// collects remote frees. It holds at most 64 KiB of cached cells, 64 KiB of cell batches and 64 KiB of noted frees,
/// each at least one cell.
///
/// It starts closed and is constant-initialised, so that a thread-local one is free of cost. A closed cache has no
/// cells and takes none: every call enters the slow path, where the owner may open it.
/// Thread safety: one thread, the one that opened it. Any thread may call `is_mine`, under a lock that was held when
/// the cache was opened.
template <class Slabs>
class cell_cache : public list_node<cell_cache<Slabs>> {
public:
  // The slots are not zeroed, since no code relies on it; constant evaluation requires initial values.
  constexpr cell_cache() noexcept {
    if (std::is_constant_evaluated()) slots_.fill(nullptr);
  }
  cell_cache(const cell_cache&) = delete;
  cell_cache& operator=(const cell_cache&) = delete;

  /// Returns: a cell, or null if the cache has none: then call `refill`.
  [[nodiscard]] ASHLAR_INLINE void* take(const Slabs& from) noexcept { return cached_.take(from.cell_stride()); }

  /// Effects: takes a cell back. Returns: false if `put_slow` must take it.
  [[nodiscard]] ASHLAR_INLINE bool put(Slabs& to, void* cell) noexcept {
    if (ASHLAR_LIKELY(cached_.has_room())) {
      cached_.put(cell);
      return true;
    }
    return ASHLAR_LIKELY(cached_.is_array_empty() && batch_ != nullptr) && note(to, cell) == batch_result::noted;
  }

  /// Returns: a cell; null, or throws as the upstream, if that has no memory left. Expects: the cache is open and has
  /// no cells.
  template <failure Failure>
  [[nodiscard]] ASHLAR_INLINE void* refill(Slabs& from) noexcept(Failure == or_null) {
    if (stock_.count == 0 && !from.template take<Failure>(stock_, cell_batches::max_cells, batch_)) return nullptr;
    return from_stock(from);
  }

  /// Effects: takes back a cell that `put` refused. Expects: the cache is open.
  ASHLAR_INLINE void put_slow(Slabs& to, void* cell) noexcept {
    make_batch(to);
    if (batch_ != nullptr && has_few_slots()) cached_.use(batch_->room.data(), cached_.limit(to.cell_stride()));
    if (cached_.has_room()) return cached_.put(cell);
    cached_.empty_array([&](void* cold) { put_cold(to, cold); });
    put_cold(to, cell);
  }

  /// Effects: gives back all cached cells and noted frees; returns after their arrival.
  void flush(Slabs& to) noexcept {
    to.with_store([&](auto& store) {
      cached_.give_all(to.geometry(), store);
      while (stock_.count != 0) store.give(to.geometry(), stock_.words[--stock_.count]);
    });
    if (batch_ != nullptr) to.flush_caches(*batch_);
  }

  [[nodiscard]] bool is_open() const noexcept { return owner_ != nullptr; }

  /// Returns: whether the calling thread opened it, and so may read its counts.
  [[nodiscard]] bool is_mine() const noexcept { return owner_ == &this_thread_; }

  /// Effects: opens the cache for cells of the calling thread.
  void open() noexcept { owner_ = &this_thread_; }

  /// Effects: flushes, and gives back the memory that the cache took from the upstream.
  void shrink(Slabs& to) noexcept {
    flush(to);
    if (batch_ == nullptr) return;
    cached_.clear();
    batch_->~large_part();
    to.upstream().deallocate(batch_, sizeof(large_part), alignof(large_part));
    batch_ = nullptr;
  }

  /// Effects: shrinks and closes the cache, which then takes no cells. Its own memory may go.
  void close(Slabs& to) noexcept {
    shrink(to);
    owner_ = nullptr;
  }

  /// Returns: the number of cells taken from the slabs and not handed out, plus frees not yet sent.
  [[nodiscard]] std::size_t held_cells() const noexcept {
    std::size_t cells = cached_.size() + (batch_ == nullptr ? 0 : batch_->noted());
    for (std::size_t at = 0; at < stock_.count; ++at) cells += count_bits(stock_.words[at].mask);
    return cells;
  }

  /// Complexity: O(cached cells).
  [[nodiscard]] bool invariant(const Slabs& of) const noexcept {
    return cached_.invariant(of.cell_stride()) && stock_.count <= cell_batches::max_words &&
           (batch_ == nullptr || batch_->invariant()) && (is_open() || held_cells() == 0);
  }

private:
  using batcher_type = typename Slabs::batcher_type;
  using cached_type = cached_cells<cell_batches::max_bytes>;  // as much as a thread takes at once: there may be many
  static constexpr std::size_t cache_line = 64;

  // Made when the cache is full for the first time.
  struct large_part : batcher_type {
    using batcher_type::batcher_type;
    std::array<void*, cached_type::slot_count> room;  // of `cached_`
  };

  // Other threads may have written to the cells last: their lines come while the first ones are in use. Smaller cells
  // share lines, which the CPU fetches unasked.
  [[nodiscard]] void* from_stock(const Slabs& from) noexcept {
    const cell_batch& fresh = stock_.words[--stock_.count];
    if (from.cell_stride() >= cache_line) fresh.fetch_ahead(from.cell_stride(), 64);
    if constexpr (cached_type::takes_freed)
      if (cached_.array() == nullptr) cached_.use(slots_.data());
    const std::size_t most = cached_.limit(from.cell_stride());
    return cached_.refill(fresh, from.cell_stride(), has_few_slots() ? detail::min(most, slots_.size()) : most);
  }

  [[nodiscard]] bool has_few_slots() const noexcept { return cached_.array() == slots_.data(); }

  [[nodiscard]] ASHLAR_INLINE batch_result note(Slabs& to, void* cell) noexcept {
    return batch_->add(to.place_of(cell));
  }

  // Without a batcher or a free packet, the cell goes back under the lock, which also brings packets back.
  ASHLAR_NOINLINE void put_cold(Slabs& to, void* cell) noexcept {
    const batch_result result = batch_ == nullptr ? batch_result::refused : note(to, cell);
    if (result == batch_result::noted) return;
    if (result == batch_result::already_noted) to.report_double_free(cell);
    if (batch_ != nullptr) to.flush_caches(*batch_);
    to.deallocate(cell);
  }

  ASHLAR_INLINE void make_batch(Slabs& to) noexcept {
    if (batch_ != nullptr) return;
    void* const memory = try_allocate_from(to.upstream(), sizeof(large_part), alignof(large_part));
    if (memory == nullptr) return;
    batch_ = ::new (memory) large_part(to.inbox(), cell_batches::max_bytes / to.cell_bytes());
  }

  static inline constinit thread_local const char this_thread_ = 0;

  cached_type cached_;
  large_part* batch_ = nullptr;
  const char* owner_ = nullptr;  // the opening thread, identified by the address of its `this_thread_`
  cell_batches stock_ = {};
  std::array<void*, 6> slots_;  // of `cached_`, until they are full
};

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
  [[nodiscard]] std::size_t held_bytes() noexcept { return slabs_.held_bytes(); }
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
