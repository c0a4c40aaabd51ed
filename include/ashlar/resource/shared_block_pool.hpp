// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of equal cells that any thread may use, with a cache in each thread.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/cached_pool.hpp>
#include <ashlar/detail/slab/cell_watch.hpp>
#include <ashlar/detail/slab/large_blocks.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/per_thread.hpp>
#include <ashlar/detail/thread/thread_records.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// As `block_pool`, for any thread. Any thread may free a cell, and a thread may end while its cells live; a thread
/// that only frees holds no memory back. See `cached_pool` for the mechanism.
///
///     ashlar::shared_block_pool pool({.cell_bytes = 24});
///
/// A thread cache holds at most about 192 KiB of free cells until its thread ends or calls `flush`.
/// Thread safety: any thread; the destructor and `release` expect that no other thread uses the pool, and that all
/// uses have happened before. Level `checked` reports a later call if the memory of the pool is still readable.
template <thread_safe_resource Upstream>
class shared_block_pool {
  using pool_type = detail::cached_pool<detail::dynamic_geometry, Upstream, spin_lock>;
  using cache_type = typename pool_type::cache_type;

public:
  static constexpr bool is_thread_safe = true;
  static constexpr bool is_self_describing = false;  // `deallocate(cell)` takes cells only

  ASHLAR_DELETED("give the size of a cell: shared_block_pool<> pool({.cell_bytes = 48})", shared_block_pool());
  /// Expects: `options` as for `block_pool`, without `max_count`: cells in thread caches could not be counted.
  explicit shared_block_pool(const block_pool_options& options, Upstream upstream = {})
      : pool_(detail::dynamic_geometry(options, least_part<Upstream>), options.retain_slabs, std::move(upstream)) {
    ASHLAR_REQUIRE(options.max_count == max_size, "a shared_block_pool has no max_count");
  }

  shared_block_pool(const shared_block_pool&) = delete;  // live cells point into it
  shared_block_pool& operator=(const shared_block_pool&) = delete;
  /// Effects: as `release()`; from level `checked` on, reports live cells as a leak first.
  ~shared_block_pool() {
    if constexpr (checking_level >= checking::checked)
      if (const std::size_t cells = live(); cells != 0)
        report_leak({.resource = this, .count = cells, .block_bytes = cell_bytes(), .bytes = cells * cell_bytes()});
    threads_.end();
  }

  /// Returns: a cell. Throws: `std::bad_alloc`, or as the upstream. Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    if (void* const cell = take(); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_slow<or_throw>();
  }

  /// Returns: a cell, or null when the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate() noexcept {
    if (void* const cell = take(); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_slow<or_null>();
  }

  /// Effects: takes a cell back, from any thread. Expects: a live cell of this pool.
  ASHLAR_INLINE void deallocate(void* cell) noexcept {
    if (ASHLAR_UNLIKELY(!put(cell))) deallocate_slow(cell);
  }

  /// Returns: a cell if the request fits one, else a block from the upstream. Throws: as `allocate`.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return fits(bytes, alignment)
               ? with_slack(pool_.geometry(), allocate(), bytes)
               : outsized_.template take<or_throw>(*this, pool_.geometry(), pool_.upstream(), bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`, but returns null when memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return fits(bytes, alignment)
               ? with_slack(pool_.geometry(), try_allocate(), bytes)
               : outsized_.template take<or_null>(*this, pool_.geometry(), pool_.upstream(), bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`. Returns: also the size of the block: the size of the whole cell, except at level
  /// `hardened`, which watches the excess bytes.
  [[nodiscard]] ASHLAR_INLINE block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    if (!fits(bytes, alignment))
      return outsized_.take_at_least(*this, pool_.geometry(), pool_.upstream(), bytes, alignment);
    const std::size_t usable = usable_of_cell(pool_.geometry(), bytes);
    return {with_slack(pool_.geometry(), allocate(), usable), usable};
  }

  /// Expects: the same `bytes` and `alignment` as at its allocation, or the size that `allocate_at_least` returned.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!fits(bytes, alignment)) return pool_.deallocate_larger(p, {bytes, alignment});
    if constexpr (pool_type::caches) deallocate(p);
    else if (ASHLAR_UNLIKELY(!pool_.put_shared(p, bytes))) deallocate_slow(p, bytes);
  }

  /// Effects: gives back the cells in the calling thread's cache, and sends its pending remote frees.
  void flush() noexcept {
    if (cache_type* const cache = threads_.find(); cache != nullptr) pool_.flush(*cache);
  }

  /// Returns: whether `p` points into a cell of this pool, live or free. Complexity: expected O(log slabs).
  [[nodiscard]] bool owns(const void* p) const noexcept { return asked().owns(p); }

  [[nodiscard]] std::size_t cell_bytes() const noexcept { return pool_.cell_bytes(); }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return pool_.slab_bytes(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return asked().capacity(); }
  /// Returns: the number of live cells plus cells in caches of other threads: never too few, and exact once those
  /// threads have ended or flushed. Level `checked` caches no cells.
  [[nodiscard]] std::size_t live() const noexcept { return asked().live(); }
  [[nodiscard]] std::size_t slabs() const noexcept { return asked().slabs(); }
  /// Returns: the number of blocks so far that no cell could hold, and that came from the upstream.
  [[nodiscard]] std::size_t outsized_blocks() const noexcept { return outsized_.get(); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return asked().held_bytes(); }          ///< of all slabs
  [[nodiscard]] std::size_t retained_bytes() const noexcept { return asked().retained_bytes(); }  ///< of empty slabs

  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return pool_.upstream(); }

  /// Effects: makes sure that `cells` cells need no upstream call, until `trim`. Throws: as `allocate`.
  void reserve(std::size_t cells) { asked().reserve(cells); }

  /// Effects: retains empty slabs by `policy` from now on; surplus ones go back at once.
  void retain(retain_policy policy) noexcept { asked().retain(policy); }

  /// Effects: flushes, gives empty slabs back except for `retain_bytes` of them, and orders the others by address.
  /// Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const std::size_t before = held_bytes();
    flush();  // may empty slabs, which then go back by policy
    const std::size_t bytes = asked().trim(retain_bytes);
    const std::size_t after = held_bytes();
    return after < before && before - after > bytes ? before - after : bytes;
  }

  /// Effects: takes all cells back, live ones included, and gives all slabs back. Expects: no other thread uses the
  /// pool; its former users may be ending.
  void release() noexcept {
    threads_.for_each([](cache_type&) {}, [this] { pool_.release(); });
  }

  [[nodiscard]] friend bool operator==(const shared_block_pool& a, const shared_block_pool& b) noexcept {
    return &a == &b;
  }

  /// Expects: no thread allocates or frees at the same time.
  [[nodiscard]] bool invariant() const noexcept { return pool_.invariant(); }

private:
  using threads = detail::per_thread<shared_block_pool, cache_type>;
  using caches = typename threads::parts;
  friend threads;

  // Returns: the pool, for calls that take its lock: a fork waits for that from now on.
  [[nodiscard]] pool_type& asked() const noexcept {
    threads_.expect_forks();
    return pool_;
  }

  // Returns: a cell of the thread cache, or null if it has none.
  [[nodiscard]] ASHLAR_INLINE void* take() noexcept {
    if constexpr (!pool_type::caches) return pool_.take_shared();
    cache_type* const cache = threads_.cached();
    return ASHLAR_LIKELY(cache != nullptr) ? pool_.take(*cache) : nullptr;
  }

  // Returns: whether the cell was taken back; if not, `deallocate_slow` must take it.
  [[nodiscard]] ASHLAR_INLINE bool put(void* cell) noexcept {
    if constexpr (!pool_type::caches) return pool_.put_shared(cell);
    cache_type* const cache = threads_.cached();
    return ASHLAR_LIKELY(cache != nullptr) && pool_.put(*cache, cell);
  }

  // Returns: this thread's cache; null if the thread cannot have one.
  [[nodiscard]] cache_type* usable_cache() noexcept {
    if constexpr (pool_type::caches) return threads_.find_or_attach();
    threads_.expect_forks();
    return nullptr;
  }

  [[nodiscard]] cache_type* begin_thread() noexcept {
    cache_type* const made = caches::try_make();
    if (made != nullptr) pool_.open(*made);
    return made;
  }
  void end_thread(cache_type& leaving) noexcept {
    pool_.close(leaving);
    caches::end(&leaving);
  }

  [[nodiscard]] ASHLAR_INLINE bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return pool_.geometry().fits(bytes, alignment);
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* allocate_slow() noexcept(Failure == or_null) {
    return pool_.template allocate_slow<Failure>(usable_cache());
  }
  template <class... Bytes>
  ASHLAR_COLD void deallocate_slow(void* cell, Bytes... bytes) noexcept {
    pool_.deallocate_slow(usable_cache(), cell, bytes...);
  }

  void before_fork(typename threads::step_type step) noexcept {
    if (step == threads::step_type::inner_locks) pool_.before_fork();
  }
  void after_fork_in_parent() noexcept { pool_.after_fork_in_parent(); }
  void after_fork_in_child(const cache_type*) noexcept { pool_.after_fork_in_child(); }

  mutable pool_type pool_;  // queries take its lock and drain the inbox
  detail::outsized_count<Upstream, true> outsized_;
  threads threads_{*this};
};

static_assert(try_resource<shared_block_pool<>> && owning_resource<shared_block_pool<>> &&
              releasable_resource<shared_block_pool<>> && thread_safe_resource<shared_block_pool<>>);

}  // namespace ashlar::ASHLAR_ABI
