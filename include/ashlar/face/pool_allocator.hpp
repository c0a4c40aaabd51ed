// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stateless std allocator for single objects from a process-wide pool.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slab/cached_pool.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/detail/thread/process_cache.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// The choices of the pools behind a `pool_allocator`. To change one, derive and shadow it. Traits have pools of their
/// own: a part of a program that names its traits has its own counts, and its own memory.
///
///     struct index_nodes : ashlar::pool_allocator_traits {
///       static constexpr std::size_t slab_bytes = 1 << 20;
///     };
///     std::set<int, std::less<>, ashlar::pool_allocator<int, index_nodes>> index;
struct pool_allocator_traits {
  /// `thread_cached`, a lock, or `one_thread`.
  using threads = thread_cached;
  /// Bytes of a slab: a power of two with room for a node; 0: chosen from the node.
  static constexpr std::size_t slab_bytes = 0;
  /// Empty slabs to retain; also `release_now`, `never_release`.
  static constexpr retain_policy retain_slabs = 1;
  /// The source of slabs: stateless, or constructed at compile time.
  using upstream = default_upstream;
};

}  // namespace ashlar::ASHLAR_ABI

namespace ashlar::ASHLAR_ABI::detail {

/// The pool shared by all allocators of one cell size, alignment, lock and traits. It is never destroyed, so containers
/// with static storage duration may use it before and after `main`. The process is one linked image here: a library
/// that is loaded by dlopen, or that hides its symbols, has its own pools, and a container must not cross that border.
/// From level `checked` on a pool of `one_thread` reports the first call by a second thread.
template <std::size_t CellBytes, std::size_t CellAlignment, policy::lock Lock, class Traits = pool_allocator_traits>
class process_pool {
public:
  [[nodiscard]] static ASHLAR_INLINE void* allocate() {
    locked_pool& shared = instance();
    const scope held(shared.lock);
    return shared.pool.allocate();
  }

  static ASHLAR_INLINE void deallocate(void* cell) noexcept {
    locked_pool& shared = instance();
    const scope held(shared.lock);
    shared.pool.deallocate(cell);
  }

  /// Effects: calls `f(pool)` under the lock. Returns: the result of `f`.
  template <class F>
  static decltype(auto) with_pool(F f) {
    locked_pool& shared = instance();
    const scope held(shared.lock);
    return f(shared.pool);
  }

private:
  static constexpr bool is_bound = checking_level >= checking::checked && std::same_as<Lock, null_lock>;
  struct unbound {};

  using scope = check_scope<fork_safe<Lock>>;

  struct locked_pool {
    fixed_block_pool<CellBytes, CellAlignment, typename Traits::upstream, Traits::slab_bytes> pool{
        {.retain_slabs = Traits::retain_slabs}};
    ASHLAR_NO_UNIQUE_ADDRESS fork_safe<Lock> lock = {};
    ASHLAR_NO_UNIQUE_ADDRESS std::conditional_t<is_bound, thread_binding, unbound> thread = {};
  };

  [[nodiscard]] static ASHLAR_INLINE locked_pool& instance() noexcept {
    locked_pool* self = &immortal_instance<locked_pool>.value;
    ASHLAR_IN_REGISTER(self);
    if constexpr (is_bound) self->thread.expect_own_thread(&self->pool, CellBytes);
    return *self;
  }
};

/// The pools of `one_thread` are the pools of `null_lock`.
template <std::size_t CellBytes, std::size_t CellAlignment, class Traits>
class process_pool<CellBytes, CellAlignment, one_thread, Traits>
    : public process_pool<CellBytes, CellAlignment, null_lock, Traits> {};

/// The same with a cache in each thread. A thread's cache opens at its first allocation or free and closes at the end
/// of the thread; its thread-local objects that are destroyed later go through the lock.
template <std::size_t CellBytes, std::size_t CellAlignment, class Traits>
class process_pool<CellBytes, CellAlignment, thread_cached, Traits> {
  using upstream = typename Traits::upstream;
  using geometry = static_geometry<CellBytes, CellAlignment, least_part<upstream>, Traits::slab_bytes>;
  using pool_type = cached_pool<geometry, upstream, spin_lock>;
  using cache = process_cache<process_pool>;

public:
  using cache_type = typename pool_type::cache_type;

  [[nodiscard]] static ASHLAR_INLINE void* allocate() {
    if (void* const cell = shared().take(cache::recent()); ASHLAR_LIKELY(cell != nullptr)) return cell;
    return allocate_slow<cache>();
  }

  static ASHLAR_INLINE void deallocate(void* cell) noexcept {
    if (ASHLAR_UNLIKELY(!shared().put(cache::recent(), cell))) deallocate_slow<cache>(cell);
  }

  /// Effects: gives back the cached cells of the calling thread, in both kinds of code. Complexity: O(threads).
  static void flush() noexcept {
    enter_fork();
    shared().flush();
  }

  /// Returns: `f(pool)`. The pool takes its lock itself.
  template <class F>
  static decltype(auto) with_pool(F f) {
    return f(shared());
  }

  /// Returns: the pool, for the caches of threads.
  [[nodiscard]] static ASHLAR_INLINE pool_type& shared() noexcept { return immortal_instance<shared_pool>.value.pool; }

  /// For the caches of threads. Effects: from now on a fork finds the pool's lock free.
  static void enter_fork() noexcept { fork_participants::enter(at_fork_); }

private:
  // The type of cache is part of the name, since one program may have code of both kinds.
  template <class Cache>
  [[nodiscard]] ASHLAR_COLD static void* allocate_slow() {
    return shared().allocate_slow(Cache::usable());
  }
  template <class Cache>
  ASHLAR_COLD static void deallocate_slow(void* cell) noexcept {
    shared().deallocate_slow(Cache::usable(), cell);
  }

  struct shared_pool {
    pool_type pool = pool_type(geometry{}, Traits::retain_slabs);
  };

  static inline constinit fork_participant at_fork_{
      .before =
          [](void*, fork_step step) noexcept {
            if (step == fork_step::inner_locks) shared().before_fork();
          },
      .in_parent = [](void*) noexcept { shared().after_fork_in_parent(); },
      .in_child = [](void*) noexcept { shared().after_fork_in_child(); }};
};

/// The pools that `Choice`, a policy of threads or traits, gives a `pool_allocator`.
template <class Choice>
struct process_pools {
  template <class T>
  using of = process_pool<sizeof(T), alignof(T), typename Choice::threads, Choice>;
};
template <policy::lock Choice>
struct process_pools<Choice> {
  template <class T>
  using of = process_pool<sizeof(T), alignof(T), Choice>;
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// A stateless allocator for every standard container. Single objects come from the process-wide pool for their size
/// and alignment, without overhead; arrays, and objects above 64 KiB, come from operator new.
///
///     std::list<int, ashlar::pool_allocator<int>> numbers;
///
/// | trait | value | because |
/// |---|---|---|
/// | is_always_equal | true | one pool serves all |
/// | propagate_on_container_copy_assignment, _move_assignment, _swap | false | nothing to carry over |
/// | select_on_container_copy_construction | a copy | the same pool |
///
/// `Traits` is a policy of threads, or `pool_allocator_traits` with other choices.
///
/// Thread safety: any thread, with `thread_cached` (the default) or any lock. A lock is default-constructible at
/// compile time, as `std::mutex` is. With `one_thread` (or `null_lock`, the same pools) the first thread that uses any
/// container of one (size, alignment) is the only one that may: from level `checked` on the first call by another is
/// reported.
template <class T, policy::pool_traits Traits>
class pool_allocator {
  // A template, so that the allocator can be named before `T` is complete.
  template <class U>
  using pool = typename detail::process_pools<Traits>::template of<U>;

public:
  using value_type = T;
  using traits_type = Traits;
  using is_always_equal = std::true_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::false_type;
  using propagate_on_container_swap = std::false_type;

  template <class U>
  struct rebind {
    using other = pool_allocator<U, Traits>;
  };

  pool_allocator() = default;
  template <class U>
  pool_allocator(const pool_allocator<U, Traits>&) noexcept {}

  /// Returns: memory for `n` objects. Throws: `std::bad_alloc`; `std::bad_array_new_length` if `n * sizeof(T)`
  /// overflows.
  [[nodiscard]] ASHLAR_INLINE T* allocate(std::size_t n) {
    if (ASHLAR_LIKELY(is_pooled(n))) return static_cast<T*>(pool<T>::allocate());
    return static_cast<T*>(allocate_array(n));
  }

  /// As `allocate(n)`. Returns: also the number of objects with room, which is `n`: a cell has room for one, and
  /// operator new does not tell.
  [[nodiscard]] ASHLAR_INLINE allocation_result<T*> allocate_at_least(std::size_t n) { return {allocate(n), n}; }

  /// Expects: `p` came from `allocate(n)` with the same `n`.
  ASHLAR_INLINE void deallocate(T* p, std::size_t n) noexcept {
    if constexpr (checking_level >= checking::checked) check_free(p, n);
    if (ASHLAR_LIKELY(is_pooled(n))) pool<T>::deallocate(p);
    else new_delete_resource().deallocate(p, n * sizeof(T), alignof(T));
  }

  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return max_block_bytes / sizeof(T); }

  /// Effects: calls `f(pool)` with the process-wide pool of this element type, under its lock if it has one: to
  /// `reserve`, to read `live`, to `trim`. Containers allocate nodes, not elements: for theirs there is `pool_of`.
  template <class F>
  static decltype(auto) with_pool(F f) {
    return pool<T>::with_pool(f);
  }

  /// Effects: gives back this thread's cached cells for this element type; without `thread_cached` there are none. The
  /// end of a thread does the same.
  static void flush() noexcept
    requires requires { pool<T>::flush(); }
  {
    pool<T>::flush();
  }

  template <class U>
  [[nodiscard]] friend bool operator==(const pool_allocator&, const pool_allocator<U, Traits>&) noexcept {
    return true;
  }

private:
  static constexpr std::size_t largest_cell = 64 * 1024;

  [[nodiscard]] static ASHLAR_INLINE constexpr bool is_pooled(std::size_t n) noexcept {
    return n == 1 && sizeof(T) <= largest_cell;
  }

  // The pool checks a single object; memory freed as an array must not lie in a smaller cell of any pool.
  ASHLAR_NOINLINE static void check_free(const T* p, std::size_t n) noexcept {
    if (is_pooled(n)) return;
    const auto place = detail::process_slabs.find(p);
    if (place.owner == nullptr || (n != 0 && n <= place.cell_bytes / sizeof(T))) return;
    if (n == 0 && !owns(p)) return;
    report({.kind = fault::size_mismatch,
            .what = "freed an object of a pool with another count than it was allocated with",
            .pointer = p,
            .owner = place.owner,
            .expected = sizeof(T),
            .got = n * sizeof(T),
            .block_bytes = place.cell_bytes});
  }

  [[nodiscard]] static bool owns(const T* p) noexcept {
    return pool<T>::with_pool([p](auto& cells) { return cells.owns(p); });
  }

  [[nodiscard]] static ASHLAR_COLD void* allocate_array(std::size_t n) {
    if (n > max_size()) throw_bad_array_new_length();
    return new_delete_resource().allocate(n * sizeof(T), alignof(T));
  }
};

}  // namespace ashlar::ASHLAR_ABI
