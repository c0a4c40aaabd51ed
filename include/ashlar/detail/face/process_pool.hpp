// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pools that stateless allocators share: one for each cell size, alignment and lock, for the whole process.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/face/process_cache.hpp>
#include <ashlar/detail/face/thread_binding.hpp>
#include <ashlar/detail/slab/cached_pool.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The pool shared by all allocators of one cell size, alignment and lock. It is never destroyed, so containers with
/// static storage duration may use it before and after `main`. The process is one linked image here: a library that is
/// loaded by dlopen, or that hides its symbols, has its own pools, and a container must not cross that border.
/// From level `checked` on a pool of `one_thread` reports the first call by a second thread.
template <std::size_t CellBytes, std::size_t CellAlignment, policy::lock Lock>
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
    fixed_block_pool<CellBytes, CellAlignment> pool = {};
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
template <std::size_t CellBytes, std::size_t CellAlignment>
class process_pool<CellBytes, CellAlignment, one_thread> : public process_pool<CellBytes, CellAlignment, null_lock> {};

/// The same with a cache in each thread. A thread's cache opens at its first allocation or free and closes at the end
/// of the thread; its thread-local objects that are destroyed later go through the lock.
template <std::size_t CellBytes, std::size_t CellAlignment>
class process_pool<CellBytes, CellAlignment, thread_cached> {
  using geometry = static_geometry<CellBytes, CellAlignment>;
  using pool_type = cached_pool<geometry, page_resource, spin_lock>;
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
    pool_type pool = pool_type(geometry{}, 1);
  };

  static inline constinit fork_participant at_fork_{
      .before =
          [](void*, fork_step step) noexcept {
            if (step == fork_step::inner_locks) shared().before_fork();
          },
      .in_parent = [](void*) noexcept { shared().after_fork_in_parent(); },
      .in_child = [](void*) noexcept { shared().after_fork_in_child(); }};
};

}  // namespace ashlar::ASHLAR_ABI::detail
