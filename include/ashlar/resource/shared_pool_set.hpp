// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools for blocks of all sizes that any thread may use, with one cache per size class and thread.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/cached_pool.hpp>
#include <ashlar/detail/slab/cell_watch.hpp>
#include <ashlar/detail/slab/pool_set_base.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/per_thread.hpp>
#include <ashlar/detail/thread/thread_records.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// As `pool_set`, for any thread: any thread may free a block, and a thread may end while its blocks live. A
/// counterpart of `std::pmr::synchronized_pool_resource`.
///
///   thread --> its table: size class -> cache, pool --> [ cached_pool of the class ] --> upstream
///
/// One thread-local read finds a thread's table, regardless of the number of classes. A cache is made at the thread's
/// first request of its class, of 0.4 KiB of the upstream, and 17 KiB beyond six cells. It holds at most about 192
/// KiB of free cells until the thread ends or calls `flush`. Level `checked` caches no cells. Thread safety: any
/// thread; the destructor and `release` expect that no other thread uses the set, and that all uses have happened
/// before.
template <thread_safe_resource Upstream>
class shared_pool_set {
  using base = detail::pool_set_base<Upstream, spin_lock>;
  using pool_type = detail::cached_pool<detail::dynamic_geometry, typename base::class_upstream_type, spin_lock>;
  using cache_type = typename pool_type::cache_type;
  using place = detail::pool_place<pool_type>;

public:
  static constexpr bool is_thread_safe = true;

  shared_pool_set()
    requires std::default_initializable<Upstream>
      : shared_pool_set(pool_set_options{}) {}
  /// Effects: makes the upstream from the arguments.
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  explicit shared_pool_set(const pool_set_options& options, Args&&... upstream)
      : base_(options, std::forward<Args>(upstream)...) {}

  shared_pool_set(const shared_pool_set&) = delete;  // live blocks point into it
  shared_pool_set& operator=(const shared_pool_set&) = delete;
  /// Effects: as `release()`; from level `checked` on, reports live blocks as leaks first.
  ~shared_pool_set() {
    if constexpr (checking_level >= checking::checked) report_live();
    threads_.end();
    end_pools();
  }

  /// Returns: a block. Throws: `std::bad_alloc`, or as the upstream. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    if (void* const cell = take(bytes, alignment); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_slow<or_throw>(bytes, alignment);
  }

  /// As `allocate`, but returns null when the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (void* const cell = take(bytes, alignment); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_slow<or_null>(bytes, alignment);
  }

  /// As `allocate`. Returns: also the size of the block: the size of the whole cell, except at level `hardened`, which
  /// watches the excess bytes. `deallocate` accepts any size from `bytes` to that.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    const std::size_t size_class = base_.class_with_cells(bytes, alignment);
    const std::size_t usable = base::usable_bytes(bytes, size_class);
    void* const p = allocate(bytes, alignment);
    detail::mark_live(static_cast<std::byte*>(p) + bytes, usable - bytes);
    return {p, usable};
  }

  /// Effects: takes a block back, from any thread. Expects: the same `bytes` and `alignment` as at its allocation, or
  /// the size that `allocate_at_least` returned.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (ASHLAR_UNLIKELY(!put(p, bytes, alignment))) deallocate_slow(p, bytes, alignment);
  }

  /// Effects: gives back the cells in the calling thread's caches, and sends its pending remote frees.
  void flush() noexcept {
    if (table* const mine = threads_.find(); mine != nullptr)
      for (class_cache* const each : mine->by_class)
        if (each != nullptr) each->pool->flush(*each);
  }

  /// Returns: whether `p` points into a cell, live or free, or into a large block. Complexity: as `pool_set::owns`.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    bool found = false;
    for_each_pool([&](pool_type& pool) { found = found || pool.owns(p); });
    if (found) return true;
    return base_.with_large([p, this](const auto& large) { return large.find(p, this) != nullptr; });
  }

  /// Returns: the number of live blocks plus cells in caches of other threads.
  [[nodiscard]] std::size_t live() const noexcept {
    std::size_t blocks = 0;
    for_each_pool([&](pool_type& pool) { blocks += pool.live(); });
    return blocks + base_.with_large([](const auto& large) { return large.count(); });
  }

  /// Effects: flushes and gives empty slabs back; retains at most `retain_bytes` of them. Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const std::size_t before = held_bytes();
    flush();
    std::size_t bytes = 0;
    for_each_pool([&](pool_type& pool) { bytes += base::trim_within(pool, retain_bytes); });
    const std::size_t after = held_bytes();
    return after < before && before - after > bytes ? before - after : bytes;
  }

  /// Effects: takes all blocks back, live and large ones included, and gives all memory back to the upstream.
  /// Expects: no other thread uses the set; its former users may be ending.
  void release() noexcept {
    threads_.for_each([this](table& each) { close(each); }, [this] { end_pools(); });
  }

  /// Returns: the bytes held from the upstream: slabs, large blocks, thread caches, and the pools themselves.
  /// Complexity: O(1). Thread safety: any thread; the figure may be out of date at once.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return base_.upstream().held_bytes(); }
  [[nodiscard]] const pool_set_options& options() const noexcept { return base_.options(); }
  /// Returns: the bytes of the largest cells that there may be.
  [[nodiscard]] std::size_t max_cell_bytes() const noexcept { return base_.max_cell_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return base_.upstream().upstream(); }

  [[nodiscard]] friend bool operator==(const shared_pool_set& a, const shared_pool_set& b) noexcept { return &a == &b; }

  /// Expects: no thread allocates or frees at the same time.
  [[nodiscard]] bool invariant() const noexcept {
    bool good = base_.invariant();
    for_each_pool([&](pool_type& pool) { good = good && pool.invariant(); });
    return good;
  }

private:
  struct class_cache : cache_type {
    explicit class_cache(pool_type& of) noexcept : pool(&of) {}
    pool_type* pool;
  };

  // A thread's part of the set.
  struct table {
    std::array<class_cache*, base::classes::count> by_class = {};
    [[nodiscard]] ASHLAR_INLINE class_cache*& of(std::size_t size_class) noexcept { return by_class[size_class - 1]; }
  };

  // The pool of a class and the calling thread's cache of it; null: there is none so far.
  struct part {
    pool_type* pool;
    cache_type* cache;
  };
  using threads = detail::per_thread<shared_pool_set, table>;
  using tables = typename threads::parts;
  friend threads;

  // Returns: this thread's cache of the request's class, if the last-used table has it.
  [[nodiscard]] ASHLAR_INLINE class_cache* recent_cache(std::size_t bytes, std::size_t alignment) const noexcept {
    table* const mine = threads_.cached();
    if (ASHLAR_UNLIKELY(mine == nullptr || !base::may_be_a_cell(bytes, alignment))) return nullptr;
    return mine->of(base::classes::of(bytes, alignment));
  }

  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment) const noexcept {
    if constexpr (!pool_type::caches) {
      pool_type* const pool = pool_at(class_of(bytes, alignment));
      return ASHLAR_LIKELY(pool != nullptr) ? with_slack(pool->geometry(), pool->take_shared(), bytes) : nullptr;
    } else {
      class_cache* const mine = recent_cache(bytes, alignment);
      return ASHLAR_LIKELY(mine != nullptr) ? mine->pool->take(*mine) : nullptr;
    }
  }

  // Returns: whether the block was taken back; if not, `deallocate_slow` must take it.
  [[nodiscard]] ASHLAR_INLINE bool put(void* p, std::size_t bytes, std::size_t alignment) const noexcept {
    if constexpr (!pool_type::caches) {
      pool_type* const pool = pool_at(class_of(bytes, alignment));
      return ASHLAR_LIKELY(pool != nullptr) && pool->put_shared(p, bytes);
    } else {
      class_cache* const mine = recent_cache(bytes, alignment);
      return ASHLAR_LIKELY(mine != nullptr) && mine->pool->put(*mine, p);
    }
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    threads_.expect_forks();
    const std::size_t size_class = class_of(bytes, alignment);
    part mine = part_of(size_class);
    if (mine.pool == nullptr) {
      if (base_.class_with_cells(bytes, alignment) == base::classes::none)
        return base_.template allocate_large<Failure>(bytes, alignment, this);
      mine.pool = add_pool<Failure>(size_class);
      if (mine.pool == nullptr) return nullptr;
    }
    void* const cell = mine.pool->template allocate_slow<Failure>(usable_cache(mine, size_class));
    if constexpr (pool_type::caches) return cell;  // whole cells, of which most need no such call
    else return with_slack(mine.pool->geometry(), cell, bytes);
  }

  ASHLAR_COLD void deallocate_slow(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t size_class = class_of(bytes, alignment);
    const part mine = part_of(size_class);
    if (ASHLAR_UNLIKELY(mine.pool == nullptr)) return base_.deallocate_large(p, bytes, alignment, this);
    mine.pool->deallocate_slow(usable_cache(mine, size_class), p, bytes);
  }

  [[nodiscard]] static ASHLAR_INLINE std::size_t class_of(std::size_t bytes, std::size_t alignment) noexcept {
    return ASHLAR_LIKELY(base::may_be_a_cell(bytes, alignment)) ? base::classes::of(bytes, alignment)
                                                                : base::classes::none;
  }

  [[nodiscard]] part part_of(std::size_t size_class) const noexcept {
    if (pool_type::caches && size_class != base::classes::none)
      if (table* const mine = threads_.find(); mine != nullptr)
        if (class_cache* const known = mine->of(size_class); known != nullptr) return {known->pool, known};
    return {pool_at(size_class), nullptr};
  }

  // Returns: the pool of a class, or null. Complexity: O(pools) at levels with caches, which know theirs.
  [[nodiscard]] pool_type* pool_at(std::size_t size_class) const noexcept {
    if constexpr (!pool_type::caches) return (*by_class_)[size_class].load();
    pool_type* found = nullptr;
    for_each_pool(
        [&](pool_type& pool) { found = pool.cell_bytes() == base::classes::bytes_of(size_class) ? &pool : found; });
    return found;
  }

  // Pairs with the store in add_pool(): a visible pool is completely constructed.
  template <class F>
  void for_each_pool(F f) const {
    for (place* each = places_.load(); each != nullptr; each = each->next) f(each->pool);
  }

  // Several threads may get here at once; only one pool stays. Returns: it; null, or throws as the upstream, if that
  // has no memory left.
  template <failure Failure>
  [[nodiscard]] pool_type* add_pool(std::size_t size_class) noexcept(Failure == or_null) {
    const block_pool_options options = base_.pool_options_of(size_class);
    const detail::dynamic_geometry geometry = base_.template geometry_of<pool_type>(options);
    const std::size_t bytes = sizeof(place) + geometry.get().short_bytes();
    void* const memory = ashlar::allocate_from<Failure>(base_.upstream(), bytes, alignof(place));
    if (memory == nullptr) return nullptr;
    auto* const made = ::new (memory) place{pool_type(geometry, options.retain_slabs, base_.upstream_of(options)),
                                            nullptr, static_cast<std::uint32_t>(bytes), 0};
    pool_type* known = nullptr;
    {
      const check_scope<spin_lock> held(making_lock_);
      known = pool_at(size_class);
      if (known == nullptr) enter(*made, size_class);
    }
    if (known == nullptr) return &made->pool;
    base_.end(made);
    return known;
  }

  void enter(place& made, [[maybe_unused]] std::size_t size_class) noexcept {
    made.next = places_.load();
    places_.store(&made);
    if constexpr (!pool_type::caches) (*by_class_)[size_class].store(&made.pool);
  }

  void end_pools() noexcept {
    if constexpr (!pool_type::caches)
      for (auto& each : *by_class_) each.store(nullptr);
    for (place* each = places_.exchange(nullptr); each != nullptr;) base_.end(std::exchange(each, each->next));
    base_.release_large(this);
  }

  // Returns: this thread's open cache of a class; null if the thread cannot have one.
  [[nodiscard]] cache_type* usable_cache(const part& known, std::size_t size_class) noexcept {
    if constexpr (!pool_type::caches) return nullptr;
    if (known.cache != nullptr) return known.cache;
    table* const mine = threads_.find_or_attach();
    if (mine == nullptr) return nullptr;
    void* const memory = ashlar::try_allocate_from(base_.upstream(), sizeof(class_cache), alignof(class_cache));
    if (memory == nullptr) return nullptr;
    class_cache* const made = mine->of(size_class) = ::new (memory) class_cache(*known.pool);
    known.pool->open(*made);
    return made;
  }

  [[nodiscard]] static table* begin_thread() noexcept { return tables::try_make(); }
  void end_thread(table& leaving) noexcept {
    close(leaving);
    tables::end(&leaving);
  }

  void close(table& leaving) noexcept {
    for (class_cache*& each : leaving.by_class) {
      if (each == nullptr) continue;
      each->pool->close(*each);
      std::destroy_at(each);
      base_.upstream().deallocate(std::exchange(each, nullptr), sizeof(class_cache), alignof(class_cache));
    }
  }

  ASHLAR_COLD void report_live() noexcept {
    for_each_pool([&](pool_type& pool) {
      const std::size_t cells = pool.live();
      if (cells == 0) return;
      const std::size_t bytes = pool.cell_bytes();
      report_leak({.resource = this, .count = cells, .block_bytes = bytes, .bytes = cells * bytes});
    });
    base_.with_large([this](const auto& large) { large.report_leaks(this); });
  }

  void before_fork(typename threads::step_type step) noexcept {
    if (step == threads::step_type::inner_locks) {
      making_lock_.lock();
      for_each_pool([](pool_type& pool) { pool.before_fork(); });
    } else if (step == threads::step_type::last_locks) {
      base_.before_fork();
    }
  }

  void after_fork_in_parent() noexcept {
    base_.after_fork();
    for_each_pool([](pool_type& pool) { pool.after_fork_in_parent(); });
    making_lock_.unlock();
  }

  void after_fork_in_child(const table*) noexcept {
    base_.after_fork();
    for_each_pool([](pool_type& pool) { pool.after_fork_in_child(); });
    making_lock_.unlock();
  }

  base base_;
  detail::publishing_atomic<place*> places_ = nullptr;
  // At levels without caches; class 0 has no pool.
  ASHLAR_NO_UNIQUE_ADDRESS
  detail::if_checked<std::array<detail::publishing_atomic<pool_type*>, base::classes::count + 1>>
      by_class_;
  spin_lock making_lock_;  // held while a pool is entered
  threads threads_{*this};
};

static_assert(try_resource<shared_pool_set<>> && owning_resource<shared_pool_set<>> &&
              releasable_resource<shared_pool_set<>> && at_least_resource<shared_pool_set<>> &&
              thread_safe_resource<shared_pool_set<>>);

}  // namespace ashlar::ASHLAR_ABI
