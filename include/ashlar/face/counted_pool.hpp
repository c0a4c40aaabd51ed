// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plain counts of owners from a pool, four bytes each: for smart pointers to objects without a counter.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/page_store.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

namespace ashlar::ASHLAR_ABI::policy {

/// Counts the owners of an object. More than 2^31 - 1 end the process, at every level: a count that wraps would
/// end the object under its remaining owners.
///
///     add()     one owner more. Expects: there is one
///     drop()    one owner less; returns whether it was the last. Expects: there is one
///     owners()  the number of owners
template <class T>
concept owner_counter = std::constructible_from<T, std::uint32_t> && requires(T& counter, const T& constant) {
  { counter.add() } noexcept;
  { counter.drop() } noexcept -> std::same_as<bool>;
  { constant.owners() } noexcept -> std::same_as<std::uint32_t>;
};

}  // namespace ashlar::ASHLAR_ABI::policy

namespace ashlar::ASHLAR_ABI::detail {

/// The limit of owners: half of the values, so that the other half is left to threads that count while the process
/// ends.
inline constexpr std::uint32_t most_owners = (std::uint32_t{1} << 31) - 1;

/// Counts of owners, four bytes each, for one thread at a time. Thread safety: none.
class plain_counter {
public:
  explicit constexpr plain_counter(std::uint32_t owners) noexcept : owners_(owners) {}

  ASHLAR_INLINE void add() noexcept {
    ASHLAR_EXPECTS(owners_ != 0, "added an owner to an object without owners");
    ASHLAR_REQUIRE(owners_ < most_owners, "added an owner to an object with 2^31 - 1 owners");
    ++owners_;
  }

  [[nodiscard]] ASHLAR_INLINE bool drop() noexcept {
    ASHLAR_EXPECTS(owners_ != 0, "dropped an owner of an object without owners");
    return --owners_ == 0;
  }

  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_; }

private:
  std::uint32_t owners_;
};

/// Thread safety: any thread with an owner. The last owner to drop sees the writes of all others before their drop.
/// Complexity: wait-free, one atomic addition.
template <class Atomics>
class basic_atomic_counter {
public:
  explicit constexpr basic_atomic_counter(std::uint32_t owners) noexcept : owners_(owners) {}

  // Relaxed: the caller has an owner, and passes the new one on by its own synchronisation.
  ASHLAR_INLINE void add() noexcept {
    const std::uint32_t before = owners_.fetch_add(1, memory_order_relaxed);
    ASHLAR_EXPECTS(before != 0, "added an owner to an object without owners");
    ASHLAR_REQUIRE(before < most_owners, "added an owner to an object with 2^31 - 1 owners");
  }

  // Release: pairs with the acquire of the last drop, which is one of these.
  [[nodiscard]] ASHLAR_INLINE bool drop() noexcept {
    const std::uint32_t before = owners_.fetch_sub(1, memory_order_acq_rel);
    ASHLAR_EXPECTS(before != 0, "dropped an owner of an object without owners");
    return before == 1;
  }

  /// Returns: the number of owners; possibly outdated, unless it is 1 and the caller is that owner.
  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_.load(memory_order_relaxed); }

private:
  typename Atomics::template atomic<std::uint32_t> owners_;
};

using atomic_counter = basic_atomic_counter<default_atomics>;

static_assert(policy::owner_counter<plain_counter> && policy::owner_counter<atomic_counter>);
static_assert(sizeof(plain_counter) == 4 && sizeof(atomic_counter) == 4);

/// The counter for a lock policy: for any thread, unless there is no lock.
template <policy::lock Lock>
using counter_for =
    std::conditional_t<std::same_as<Lock, one_thread> || std::same_as<Lock, null_lock>, plain_counter, atomic_counter>;

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// Limits of a `counted_pool`: `max_count` and `retain_slabs`.
using counted_pool_options = fixed_block_pool_options;

namespace detail {

/// The begin and the end of a counter in a cell.
template <class Counter>
struct counter_life {
  [[nodiscard]] static ASHLAR_INLINE Counter* begin(void* cell, std::uint32_t owners) noexcept {
    ASHLAR_EXPECTS(owners != 0, "made a counter without an owner");
    return ::new (cell) Counter(owners);
  }

  // Drops an owner of a counter in `cells`. The pool reports an address of no live counter, before it is written.
  template <class Cells>
  [[nodiscard]] static ASHLAR_INLINE bool drop(Cells cells, Counter* counter) noexcept {
    if constexpr (checking_level >= checking::checked)
      if (!cells.owns(counter) || !is_aligned(counter, alignof(Counter)) || is_of_dead(counter->owners()))
        cells.deallocate(counter);
    if (ASHLAR_LIKELY(!counter->drop())) return false;
    cells.deallocate(counter);
    return true;
  }

private:
  // Returns: whether a number of owners is the content of a dead cell: its last value, or poison at `hardened`.
  [[nodiscard]] static ASHLAR_INLINE bool is_of_dead(std::uint32_t owners) noexcept {
    return owners == 0 || (keeps_canaries && owners == 0x01010101u * poison_byte);
  }
};

// The pool behind a `counted_pool`, by its lock policy.
template <class Counter, class Lock, class Upstream>
struct counter_cells {
  using type = synchronized<fixed_block_pool<sizeof(Counter), alignof(Counter), Upstream>, Lock>;
  [[nodiscard]] static type make(const fixed_block_pool_options& limits, Upstream upstream) {
    return type(limits, std::move(upstream));
  }
};
template <class Counter, class Upstream>
struct counter_cells<Counter, null_lock, Upstream> {
  using type = fixed_block_pool<sizeof(Counter), alignof(Counter), Upstream>;
  [[nodiscard]] static type make(const fixed_block_pool_options& limits, Upstream upstream) {
    return type(limits, std::move(upstream));
  }
};
template <class Counter, class Upstream>
struct counter_cells<Counter, one_thread, Upstream> : counter_cells<Counter, null_lock, Upstream> {};
template <class Counter, class Upstream>
struct counter_cells<Counter, thread_cached, Upstream> {
  using type = shared_block_pool<Upstream>;
  [[nodiscard]] static type make(const fixed_block_pool_options& limits, Upstream upstream) {
    return type({.cell_bytes = sizeof(Counter),
                 .cell_alignment = alignof(Counter),
                 .max_count = limits.max_count,
                 .retain_slabs = limits.retain_slabs},
                std::move(upstream));
  }
};

}  // namespace detail

/// Counters of owners, each in a cell of its own size, 4 bytes and a bit. A smart pointer stores the addresses of its
/// object and of the counter, and the address of the pool unless its type implies the pool.
///
///     ashlar::counted_pool<> counts;
///     auto* const owners = counts.make();          // one owner
///     owners->add();                               // two
///     if (counts.drop(owners)) delete object;      // the last drop has freed the counter; the caller ends the object
///
/// `Lock` as in `pool_allocator`, but one's own pool is for one thread by default, one at a time; counters are plain
/// with `one_thread`, else atomic, unless `Counter` selects another type. From level `checked` on, counters that are
/// live at the end of the pool are reported as a leak. Nothing is allocated before the first `make` or `reserve`.
/// Thread safety: by `Lock`.
template <policy::lock Lock = one_thread, policy::owner_counter Counter = detail::counter_for<Lock>,
          resource Upstream = default_upstream>
class counted_pool {
  using source = detail::counter_cells<Counter, Lock, Upstream>;
  using life = detail::counter_life<Counter>;

public:
  using counter_type = Counter;

  /// Expects: no `max_count` with `thread_cached`, since cells in thread caches cannot be counted.
  counted_pool() : counted_pool(counted_pool_options{}) {}
  explicit counted_pool(const counted_pool_options& options, Upstream upstream = {})
      : cells_(source::make(options, std::move(upstream))) {}

  /// Returns: a counter that counts `owners`, at least one. Throws: `std::bad_alloc`, or as the upstream.
  [[nodiscard]] Counter* make(std::uint32_t owners = 1) {
    return life::begin(cells_.allocate(sizeof(Counter), alignof(Counter)), owners);
  }

  /// As `make`, but null when the pool is exhausted.
  [[nodiscard]] Counter* try_make(std::uint32_t owners = 1) noexcept {
    void* const cell = cells_.try_allocate(sizeof(Counter), alignof(Counter));
    return cell != nullptr ? life::begin(cell, owners) : nullptr;
  }

  /// Effects: drops an owner, and frees the counter if that was the last. Returns: whether it was. Expects: the counter
  /// is of this pool and has an owner.
  [[nodiscard]] bool drop(Counter* counter) noexcept { return life::drop(by_size{cells_}, counter); }

  /// Effects: makes `counters` live counters possible without a request to the upstream. Throws: as `make`.
  void reserve(std::size_t counters) {
    visit([&](auto& cells) { cells.reserve(counters); });
  }

  /// Effects: gives empty slabs back, except `retain_bytes` of them. Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    return visit([=](auto& cells) { return cells.trim(retain_bytes); });
  }

  /// Effects: ends all counters, live ones included, and gives all memory back; the end of the pool then reports no
  /// leak. Expects: no other thread uses the pool.
  void release() noexcept { cells_.release(); }

  /// Returns: whether `p` points into a counter of this pool, live or free. Complexity: O(log slabs) expected.
  [[nodiscard]] bool owns(const void* p) const noexcept { return cells_.owns(p); }
  /// Returns: the number of counters with owners.
  [[nodiscard]] std::size_t live() const noexcept {
    return visit([](auto& cells) { return cells.live(); });
  }
  [[nodiscard]] std::size_t capacity() const noexcept {
    return visit([](auto& cells) { return cells.capacity(); });
  }
  /// Returns: the bytes held from the upstream, of all slabs. Complexity: O(1). Thread safety: by `Lock`.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return visit([](auto& cells) { return cells.held_bytes(); });
  }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept {
    return visit([](auto& cells) -> const Upstream& { return cells.upstream_resource(); });
  }
  /// Expects: no thread makes or drops meanwhile.
  [[nodiscard]] bool invariant() const noexcept {
    return visit([](auto& cells) { return cells.invariant(); });
  }

private:
  using cells_type = typename source::type;

  struct by_size {
    cells_type& cells;
    [[nodiscard]] bool owns(const void* p) const noexcept { return cells.owns(p); }
    ASHLAR_INLINE void deallocate(void* p) const noexcept { cells.deallocate(p, sizeof(Counter), alignof(Counter)); }
  };

  // Calls `f(pool)`, under the lock if there is one.
  template <class F>
  decltype(auto) visit(F f) const {
    if constexpr (requires { cells_.with_upstream(f); }) return cells_.with_upstream(f);
    else return f(cells_);
  }

  mutable cells_type cells_;  // mutable: a query may take its lock
};

/// The process-wide pool of such counters, which needs no object: for smart pointers of two words, usable before and
/// after `main`. See `process_pool`. Thread safety: as `pool_allocator<T, Lock>`: any thread, unless `Lock` is
/// `one_thread`.
template <policy::lock Lock = thread_cached, policy::owner_counter Counter = detail::counter_for<Lock>>
class process_counted_pool {
  using pool = detail::process_pool<sizeof(Counter), alignof(Counter), Lock>;
  using life = detail::counter_life<Counter>;

public:
  using counter_type = Counter;

  /// As `counted_pool::make`.
  [[nodiscard]] static ASHLAR_INLINE Counter* make(std::uint32_t owners = 1) {
    return life::begin(pool::allocate(), owners);
  }

  /// As `counted_pool::drop`.
  [[nodiscard]] static ASHLAR_INLINE bool drop(Counter* counter) noexcept {
    return life::drop(process_cells{}, counter);
  }

  /// Effects: calls `f(pool)` with the process-wide pool of all objects of this size, alignment and lock, under its
  /// lock if it has one. Returns: the result of `f`.
  template <class F>
  static decltype(auto) with_pool(F f) {
    return pool::with_pool(std::move(f));
  }

private:
  struct process_cells {
    [[nodiscard]] bool owns(const void* p) const noexcept {
      return pool::with_pool([p](auto& cells) { return cells.owns(p); });
    }
    ASHLAR_INLINE void deallocate(void* p) const noexcept { pool::deallocate(p); }
  };
};

}  // namespace ashlar::ASHLAR_ABI
