// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of equal cells that any thread may use, with a cache in each thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/block.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/poison.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/fork.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/cached_pool.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/spare_policy.hpp>
#include <ashlar/resource/thread_caches.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// As `block_pool`, for any thread: a cell may be freed by another thread than the one it was given to, threads may end
/// while cells of theirs live, and one that only frees keeps nothing back. See `cached_pool` for how.
///
///     ashlar::shared_block_pool pool({.cell_bytes = 24});
///
/// Each thread keeps at most about 192 KiB of free cells at hand until it ends, or calls `flush`.
/// Thread safety: any thread; the destructor and `release` expect that no other thread uses the pool, and that all uses
/// have happened before. At level `checked` a call that comes later is reported where the memory of the pool can still
/// be read.
template <thread_safe_resource Upstream>
class shared_block_pool {
  using pool_type = cached_pool<dynamic_geometry, Upstream, spin_lock>;
  using cache_type = typename pool_type::cache_type;

public:
  static constexpr bool is_thread_safe = true;

  /// Expects: `options` as for `block_pool`, without `max_cells`: what threads have at hand could not be counted.
  explicit shared_block_pool(const block_pool_options& options, Upstream upstream = {})
      : pool_(dynamic_geometry(make_slab_geometry(options)), options.spare_slabs, std::move(upstream)) {
    ASHLAR_REQUIRE(options.max_cells == max_size, "a shared_block_pool has no max_cells");
  }

  shared_block_pool(const shared_block_pool&) = delete;  // live cells point into it
  shared_block_pool& operator=(const shared_block_pool&) = delete;
  /// Effects: as `release()`; from level `checked` on, cells that are live still are reported as a leak first.
  ~shared_block_pool() {
    if constexpr (checking_level >= checking::checked)
      if (const std::size_t cells = live(); cells != 0)
        report_leak({.resource = this, .count = cells, .block_bytes = cell_bytes(), .bytes = cells * cell_bytes()});
    link* const shared = link_.load(std::memory_order_acquire);
    if (shared != nullptr) shared->part(pool_);
    os::fork_participants::leave(at_fork_);  // until now a fork waits for the link
    if (shared != nullptr) shared->drop();
  }

  /// Returns: a cell. Throws: `std::bad_alloc`, or what the upstream throws. Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE void* allocate() {
    if (cache_type* const cache = recent_cache(); ASHLAR_LIKELY(cache != nullptr))
      if (void* const cell = pool_.take(*cache); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_slowly();
  }

  /// Returns: a cell, or null where the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate() noexcept {
    if (cache_type* const cache = recent_cache(); ASHLAR_LIKELY(cache != nullptr))
      if (void* const cell = pool_.take(*cache); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return try_allocate_slowly();
  }

  /// Effects: takes a cell back, from whatever thread. Expects: it is live and of this pool.
  ASHLAR_INLINE void deallocate(void* cell) noexcept {
    cache_type* const cache = recent_cache();
    if (ASHLAR_UNLIKELY(cache == nullptr || !pool_.put(*cache, cell))) deallocate_slowly(cell);
  }

  /// Returns: a cell where one is large enough, else a block of the upstream. Throws: as `allocate`.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return fits(bytes, alignment) ? with_slack(allocate(), bytes)
                                  : allocate_upstream(pool_.upstream(), bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`, but null where memory has run out.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return fits(bytes, alignment) ? with_slack(try_allocate(), bytes)
                                  : try_allocate_upstream(pool_.upstream(), bytes, alignment);
  }

  /// As `allocate(bytes, alignment)`. Returns: also how large the block is: the whole cell.
  [[nodiscard]] ASHLAR_INLINE block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    if (!fits(bytes, alignment)) return allocate_upstream_at_least(pool_.upstream(), bytes, alignment);
    return {allocate(), cell_bytes()};
  }

  /// Expects: `p` was allocated with the same `bytes` and `alignment`, or `bytes` is one that `allocate_at_least` gave.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    fits(bytes, alignment) ? deallocate(p) : pool_.upstream().deallocate(p, bytes, alignment);
  }

  /// Effects: gives back the cells that the calling thread has at hand, and its frees that were not sent yet.
  void flush() noexcept {
    if (cache_type* const cache = known_cache(); cache != nullptr) pool_.flush(*cache);
  }

  /// Returns: whether `p` points into a cell of this pool, live or free. Complexity: O(log slabs) expected.
  [[nodiscard]] bool owns(const void* p) const noexcept { return pool_.owns(p); }

  [[nodiscard]] std::size_t cell_bytes() const noexcept { return pool_.cell_bytes(); }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return pool_.slab_bytes(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return pool_.capacity(); }
  /// Returns: the number of cells handed out and not taken back, and of those that other threads have at hand: exact
  /// when those have ended or flushed, and never less than are live. At level `checked` nobody has any at hand.
  [[nodiscard]] std::size_t live() const noexcept { return pool_.live(); }
  [[nodiscard]] std::size_t slabs() const noexcept { return pool_.slabs(); }

  /// Effects: makes `cells` cells possible without asking the upstream, until `shrink_to_fit`. Throws: as `allocate`.
  void reserve(std::size_t cells) {
    os::fork_participants::enter(at_fork_);
    pool_.reserve(cells);
  }

  /// Effects: keeps empty slabs as `spare` says from now on; those that are too many go back at once.
  void keep(spare_policy spare) noexcept { pool_.keep(spare); }

  /// Effects: flushes, gives all empty slabs back and orders the others by address. Returns: bytes given back.
  std::size_t shrink_to_fit() noexcept {
    flush();
    return pool_.shrink_to_fit();
  }

  /// Effects: takes all cells back, live or not, and gives all slabs back. Expects: no other thread uses the pool;
  /// those that did may be ending.
  void release() noexcept {
    link* const shared = link_.load(std::memory_order_acquire);
    if (shared == nullptr) return pool_.release();
    const lock_scope held(shared->lock);
    pool_.release();
  }

  [[nodiscard]] friend bool operator==(const shared_block_pool& a, const shared_block_pool& b) noexcept {
    return &a == &b;
  }

  /// Expects: no thread allocates or frees meanwhile.
  [[nodiscard]] bool invariant() const noexcept { return pool_.invariant(); }

private:
  // What the pool and the records of its threads share; the last of them ends it. The lock is held while caches of any
  // thread are closed or emptied, and so while the upstream takes memory back, which may be a pool too.
  struct link {
    spin_lock lock;
    std::atomic<pool_type*> pool;  // null where the pool is gone; changed under the lock
    std::atomic<std::size_t> references = 1;

    explicit link(pool_type* of) : pool(of) {}

    void part(pool_type& leaving) noexcept {
      const lock_scope held(lock);
      leaving.close_all();
      pool.store(nullptr, std::memory_order_release);  // pairs with is_orphan()
    }

    // Without the lock, which this thread may hold, or may wait for while it holds another's.
    [[nodiscard]] bool is_orphan() const noexcept {
      return pool.load(std::memory_order_acquire) == nullptr;  // pairs with part(), which closed the cache
    }

    void drop() noexcept {
      if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;  // pairs with itself in other threads
    }
  };

  struct record : thread_cache_record {
    cache_type cells;
    link* shared;

    record(std::uint64_t number, link* of) noexcept : shared(of) {
      pool = number;
      cache = &cells;
      is_orphan = [](thread_cache_record* self) noexcept { return static_cast<record*>(self)->shared->is_orphan(); };
      retire = [](thread_cache_record* self) noexcept { static_cast<record*>(self)->end(); };
    }

    void end() noexcept {
      if (!shared->is_orphan()) {
        const lock_scope held(shared->lock);
        if (pool_type* const of = shared->pool.load(std::memory_order_relaxed); of != nullptr) of->close(cells);
      }
      shared->drop();
      delete this;
    }
  };

  [[nodiscard]] ASHLAR_INLINE cache_type* recent_cache() const noexcept {
    if constexpr (!pool_type::caches) return nullptr;
    return static_cast<cache_type*>(thread_caches::find(number_));
  }

  [[nodiscard]] cache_type* known_cache() const noexcept {
    if (cache_type* const recent = recent_cache(); recent != nullptr) return recent;
    return static_cast<cache_type*>(thread_caches::find_slowly(number_));
  }

  // Returns: this thread's cache, open; null where it cannot have one.
  [[nodiscard]] cache_type* usable_cache() noexcept {
    os::fork_participants::enter(at_fork_);
    if (!pool_type::caches || !thread_caches::accepts()) return nullptr;
    cache_type* const known = known_cache();
    return known != nullptr ? known : new_cache();
  }

  [[nodiscard]] cache_type* new_cache() noexcept {
    link* const shared = shared_link();
    record* const fresh = shared == nullptr ? nullptr : new (std::nothrow) record(number_, shared);
    if (fresh == nullptr) return nullptr;
    shared->references.fetch_add(1, std::memory_order_relaxed);
    pool_.open(fresh->cells);
    thread_caches::enter(fresh);
    return &fresh->cells;
  }

  // The first thread that needs the link makes it.
  [[nodiscard]] link* shared_link() noexcept {
    link* known = link_.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    link* const made = new (std::nothrow) link(&pool_);
    if (made == nullptr) return nullptr;
    if (link_.compare_exchange_strong(known, made, std::memory_order_acq_rel, std::memory_order_acquire)) return made;
    delete made;
    return known;
  }

  [[nodiscard]] ASHLAR_INLINE bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return pool_.geometry().fits(bytes, alignment);
  }

  // The bytes behind a request smaller than its cell are nobody's.
  [[nodiscard]] ASHLAR_INLINE void* with_slack(void* cell, [[maybe_unused]] std::size_t bytes) const noexcept {
    if constexpr (marks_memory)
      if (cell != nullptr) mark_free(static_cast<std::byte*>(cell) + bytes, cell_bytes() - bytes);
    return cell;
  }

  [[nodiscard]] ASHLAR_COLD void* allocate_slowly() { return pool_.allocate_slowly(usable_cache()); }
  [[nodiscard]] ASHLAR_COLD void* try_allocate_slowly() noexcept { return pool_.try_allocate_slowly(usable_cache()); }
  ASHLAR_COLD void deallocate_slowly(void* cell) noexcept { pool_.deallocate_slowly(usable_cache(), cell); }

  [[nodiscard]] static shared_block_pool& self(void* pool) noexcept { return *static_cast<shared_block_pool*>(pool); }

  void before_fork(os::fork_step step) noexcept {
    if (step == os::fork_step::outer_locks) {
      link_at_fork_ = link_.load(std::memory_order_acquire);
      if (link_at_fork_ != nullptr) link_at_fork_->lock.lock();
    } else if (step == os::fork_step::inner_locks) {
      pool_.before_fork();
    }
  }

  void after_fork_in_parent() noexcept {
    pool_.after_fork_in_parent();
    unlock_link();
  }

  void after_fork_in_child() noexcept {
    link_.store(link_at_fork_, std::memory_order_relaxed);  // as in thread_tables: one made meanwhile may be locked
    pool_.after_fork_in_child(static_cast<cache_type*>(thread_caches::find_unchanged(number_)));
    unlock_link();
  }

  void unlock_link() noexcept {
    if (link_at_fork_ != nullptr) link_at_fork_->lock.unlock();
  }

  mutable pool_type pool_;  // asking it takes its lock and takes arrived frees in
  const std::uint64_t number_ = thread_caches::new_pool();
  std::atomic<link*> link_ = nullptr;
  link* link_at_fork_ = nullptr;  // what the fork holds: another thread may make one meanwhile
  os::fork_participant at_fork_{.before = [](void* pool, os::fork_step step) noexcept { self(pool).before_fork(step); },
                                .in_parent = [](void* pool) noexcept { self(pool).after_fork_in_parent(); },
                                .in_child = [](void* pool) noexcept { self(pool).after_fork_in_child(); },
                                .self = this};
};

static_assert(try_resource<shared_block_pool<>> && owning_resource<shared_block_pool<>> &&
              releasable_resource<shared_block_pool<>> && thread_safe_resource<shared_block_pool<>>);

}  // namespace ashlar::inline ASHLAR_ABI
