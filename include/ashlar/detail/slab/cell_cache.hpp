// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's cache of cells from slabs that it shares with other threads.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/slab/cached_cells.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/list.hpp>

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
  constexpr cell_cache() noexcept {}  // user-provided, so that the array is not zeroed
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
    batch_->~batcher_type();
    to.upstream().deallocate(batch_, sizeof(batcher_type), alignof(batcher_type));
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
  static constexpr std::size_t cache_line = 64;

  // Other threads may have written to the cells last: their lines come while the first ones are in use. Smaller cells
  // share lines, which the CPU fetches unasked.
  [[nodiscard]] void* from_stock(const Slabs& from) noexcept {
    const cell_batch& fresh = stock_.words[--stock_.count];
    if (from.cell_stride() >= cache_line) fresh.fetch_ahead(from.cell_stride(), 64);
    return cached_.refill(fresh, from.cell_stride());
  }

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
    void* const memory = try_allocate_from(to.upstream(), sizeof(batcher_type), alignof(batcher_type));
    if (memory == nullptr) return;
    batch_ = ::new (memory) batcher_type(to.inbox(), cell_batches::max_bytes / to.cell_bytes());
  }

  static inline constinit thread_local const char this_thread_ = 0;

  cached_cells<cell_batches::max_bytes> cached_;  // as much as a thread takes at once: there may be many threads
  batcher_type* batch_ = nullptr;
  const char* owner_ = nullptr;  // the opening thread, identified by the address of its `this_thread_`
  cell_batches stock_ = {};
};

}  // namespace ashlar::ASHLAR_ABI::detail
