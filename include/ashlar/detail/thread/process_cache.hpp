// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calling thread's cache of a process-wide pool: in a program a thread-local object, in a library a record; and a
// pool without a lock, bound to the first thread that uses it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/thread_end.hpp>
#include <ashlar/detail/thread/thread_records.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Binds a pool to the first thread that uses it. Threads have numbers, which are never given twice: an address of a
/// thread-local variable would let a thread pass for an ended one. A forked child is the thread that forked.
class thread_binding {
public:
  /// Effects: reports the first call by a second thread, once, so that the handler may use the pool.
  ASHLAR_INLINE void expect_own_thread(const void* pool, std::size_t cell_bytes) noexcept {
    if (ASHLAR_UNLIKELY(owner_.load(memory_order_relaxed) != this_thread_)) bind(pool, cell_bytes);
  }

private:
  static constexpr std::size_t nobody = 0;
  static constexpr std::size_t anybody = max_size;  // after the report
  static constexpr std::size_t unnumbered = max_size - 1;

  ASHLAR_COLD void bind(const void* pool, std::size_t cell_bytes) noexcept {
    if (this_thread_ == unnumbered) this_thread_ = latest_.fetch_add(1, memory_order_relaxed) + 1;
    std::size_t owner = nobody;
    if (owner_.compare_exchange_strong(owner, this_thread_, memory_order_relaxed, memory_order_relaxed)) return;
    if (owner_.exchange(anybody, memory_order_relaxed) == anybody) return;
    report({.what = "used a pool of one_thread in a second thread", .resource = pool, .size = cell_bytes});
  }

  static inline constinit atomic<std::size_t> latest_ = nobody;
  static inline constinit ASHLAR_THREAD_LOCAL std::size_t this_thread_ = unnumbered;

  atomic<std::size_t> owner_ = nobody;
};

/// A thread-local cache: a program finds it without a load, at the cost of 0.4 KiB of thread-local storage.
template <class Owner>
class cache_in_place {
  using cache_type = typename Owner::cache_type;

public:
  [[nodiscard]] static ASHLAR_INLINE cache_type& current() noexcept { return cache_; }
  [[nodiscard]] static bool try_make() noexcept { return true; }
  static void end() noexcept {}

private:
  static inline constinit thread_local cache_type cache_;
};

/// A thread-local pointer: to a record of the thread or, before and after its life, to one closed cache for all
/// threads, which is never written. So the pointer is never null, and the fast path needs no check.
template <class Owner>
class cache_by_pointer {
  using cache_type = typename Owner::cache_type;

public:
  [[nodiscard]] static ASHLAR_INLINE cache_type& current() noexcept { return *cache_; }

  /// Returns: false when the system has no memory left.
  [[nodiscard]] static bool try_make() noexcept {
    cache_type* const made = records::try_make();
    if (made != nullptr) cache_ = made;
    return made != nullptr;
  }

  /// Expects: `try_make` has made one, which is closed.
  static void end() noexcept { records::end(std::exchange(cache_, &closed())); }

private:
  using records = thread_records<cache_type>;
  struct closed_cache {
    cache_type cache;
  };

  [[nodiscard]] static constexpr cache_type& closed() noexcept { return immortal_instance<closed_cache>.value.cache; }

  static inline constinit thread_local cache_type* cache_ = &closed();
};

/// The calling thread's cache. It opens at the first `usable`, and closes at the end of the thread; later calls of the
/// thread bypass it. `Owner` has the type `cache_type`, a pool `shared()` of such caches, and `enter_fork()`, which
/// enters the pool for forks.
///
///     program:  thread-local | cache |            library:  thread-local | pointer | --> cache, a record from pages
///
/// Libraries may be loaded late and in any number, and each thread has the thread-local variables of all: so the
/// variables of a library are small. A program may be linked with objects compiled for libraries; then a thread has one
/// cache of the pool for each kind of code. Thread safety: each thread sees its own.
template <class Owner, bool IsLibraryCode = ASHLAR_IS_LIBRARY_CODE>
class process_cache {
  using cache_type = typename Owner::cache_type;
  using place = std::conditional_t<IsLibraryCode, cache_by_pointer<Owner>, cache_in_place<Owner>>;

public:
  /// Returns: the cache, or a closed one.
  [[nodiscard]] static ASHLAR_INLINE cache_type& recent() noexcept { return place::current(); }

  /// Returns: the cache, open; null if the thread is ending, or the system has no memory left for it.
  [[nodiscard]] static cache_type* usable() noexcept {
    if (ASHLAR_UNLIKELY(state_ == state::fresh)) begin();
    return state_ == state::open ? &place::current() : nullptr;
  }

private:
  enum class state : unsigned char { fresh, open, ended };

  static void begin() noexcept {
    Owner::enter_fork();
    if (!place::try_make()) return;
    state_ = thread_end::enter(at_thread_end_) ? state::open : state::ended;
    if (state_ == state::ended) return place::end();
    Owner::shared().open(place::current());
  }

  static void end(thread_end_participant*) noexcept {
    state_ = state::ended;
    Owner::shared().close(place::current());
    place::end();
  }

  static inline constinit thread_local state state_ = state::fresh;
  static inline constinit thread_local thread_end_participant at_thread_end_{.at_end = end};
};

}  // namespace ashlar::ASHLAR_ABI::detail
