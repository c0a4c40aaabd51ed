// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::shared_ptr with object and counts in one cell of a pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/face/resource_delete.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// A pointer to virtual functions and two counts.
inline constexpr std::size_t most_counting_bytes = sizeof(void*) + 2 * sizeof(long);
inline constexpr std::size_t counting_alignment = std::max(alignof(void*), alignof(long));

// The largest offset of an object of this alignment in its control block: after the counts, and after an allocator,
// which may share a class with the object and so have its alignment.
[[nodiscard]] constexpr std::size_t most_shared_offset(std::size_t alignment) noexcept {
  return align_up(most_counting_bytes, alignment) + align_up(sizeof(void*), alignment);
}

// Uninitialised bytes with the given alignment.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) bare_bytes {
  bare_bytes() noexcept {}  // leaves them uninitialised
  std::byte bytes[Bytes];
};

// No bytes, with the given alignment.
template <std::size_t Alignment>
struct alignas(Alignment) no_bytes {};

// The allocator for the one request of `std::allocate_shared`: `T` is the type of the block of counts and object.
template <class T, resource R>
class shared_cell_allocator {
public:
  using value_type = T;
  using is_always_equal = std::false_type;  // the others matter only to containers, which never use it
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  template <class U>
  struct rebind {
    using other = shared_cell_allocator<U, R>;
  };

  explicit shared_cell_allocator(resource_link<R> home) noexcept : home_(home) {}
  template <class U>
  shared_cell_allocator(const shared_cell_allocator<U, R>& other) noexcept : home_(other.home()) {}

  [[nodiscard]] T* allocate(std::size_t) {
    static_assert(may_be_in_cell_of<T, R>,
                  "the cells of this pool cannot hold the object and its counts: see most_shared_cell_bytes");
    auto&& from = home_.get();
    void* const cell = from.allocate(sizeof(T), alignof(T));
    if constexpr (owning_resource<R>)
      ASHLAR_EXPECTS(from.owns(cell), "made a shared object in a pool whose cells cannot hold it and its counts");
    return static_cast<T*>(cell);
  }

  ASHLAR_INLINE void deallocate(T* cell, std::size_t) noexcept { home_.get().deallocate(cell, sizeof(T), alignof(T)); }

  [[nodiscard]] resource_link<R> home() const noexcept { return home_; }
  template <class U>
  [[nodiscard]] friend bool operator==(const shared_cell_allocator& a, const shared_cell_allocator<U, R>& b) noexcept {
    return a.home_.get() == b.home().get();
  }

private:
  ASHLAR_NO_UNIQUE_ADDRESS resource_link<R> home_;
};

// Serves the one request of `std::allocate_shared` from itself, and notes its size.
template <std::size_t Bytes, std::size_t Alignment>
class alignas(Alignment) measuring_resource {
public:
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t) noexcept {
    asked_ = bytes;
    return memory_;
  }
  void deallocate(void*, std::size_t, std::size_t) noexcept {}
  bool operator==(const measuring_resource& other) const noexcept { return this == &other; }

  [[nodiscard]] std::size_t asked() const noexcept { return asked_; }

private:
  std::byte memory_[Bytes];
  std::size_t asked_ = 0;
};
template <class T, std::size_t Bytes, std::size_t Alignment>
[[nodiscard]] consteval bool is_measured() noexcept {
  static_assert(sizeof(T) <= Bytes && alignof(T) <= Alignment,
                "this standard library counts the owners of shared objects in more bytes than expected");
  return true;
}
template <class T, std::size_t Bytes, std::size_t Alignment>
inline constexpr bool may_be_in_cell_of<T, measuring_resource<Bytes, Alignment>> = is_measured<T, Bytes, Alignment>();

// Returns: the actual offset of an object of this alignment in its control block.
template <std::size_t Alignment>
[[nodiscard]] std::size_t shared_offset() {
  constexpr std::size_t unit = std::max(Alignment, counting_alignment);
  using sample = bare_bytes<unit, Alignment>;
  using buffer = measuring_resource<most_shared_offset(unit) + unit, unit>;
  buffer here;
  static_cast<void>(std::allocate_shared<sample>(shared_cell_allocator<sample, buffer>(link_to(here))));
  return here.asked() - sizeof(sample);
}

// The alignment that a library may use for an object in a control block: on 32 bits a number alone has a larger one
// than in a struct.
template <class T>
inline constexpr std::size_t shared_object_alignment =
    std::is_scalar_v<T> ? std::max(alignof(T), natural_alignment(sizeof(T))) : alignof(T);

/// A type that replaces `T` in a control block without a change of its layout, and does nothing.
template <class T>
using shared_stand_in = std::conditional_t<std::is_scalar_v<T>, std::remove_cv_t<T>,
                                           std::conditional_t<std::is_empty_v<T> && !std::is_final_v<T>,
                                                              no_bytes<alignof(T)>, bare_bytes<sizeof(T), alignof(T)>>>;

template <class T>
struct shared_cell {
  static constexpr std::size_t alignment = std::max(shared_object_alignment<T>, counting_alignment);
  static constexpr std::size_t most_bytes =
      align_up(most_shared_offset(shared_object_alignment<T>) + sizeof(T), alignment);

  [[nodiscard]] static std::size_t bytes() {
    return align_up(shared_offset<shared_object_alignment<T>>() + sizeof(T), alignment);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// The alignment of a cell for `allocate_shared_pooled<T>(pool, …)`.
template <class T>
inline constexpr std::size_t shared_cell_alignment = detail::shared_cell<T>::alignment;

/// An upper bound for every standard library: for pools with a constant cell size.
template <class T>
inline constexpr std::size_t most_shared_cell_bytes = detail::shared_cell<T>::most_bytes;

/// Returns: the bytes of a cell for `allocate_shared_pooled<T>(pool, …)`: a `T` and this standard library's control
/// block, with a size that only a request to an allocator shows. Allocates nothing.
template <class T>
[[nodiscard]] std::size_t shared_cell_bytes() {
  return detail::shared_cell<T>::bytes();
}

/// Returns: options for a pool of shared `T`s.
///
///     ashlar::block_pool pool(ashlar::shared_cell_options<session>());
template <class T>
[[nodiscard]] block_pool_options shared_cell_options() {
  return {.cell_bytes = shared_cell_bytes<T>(), .cell_alignment = shared_cell_alignment<T>};
}

namespace detail {

// Returns: the allocator for `pool`, or for the resource that it refers to.
template <class T, class R>
[[nodiscard]] auto shared_cells_of(R& pool) noexcept {
  return shared_cell_allocator<std::remove_cv_t<T>, referred_resource<std::remove_cv_t<R>>>(link_to(pool));
}

// An allocator with a member would request a larger cell, so the visitor is kept here.
template <class F>
struct waiting_visitor {
  static inline constinit thread_local F* visitor = nullptr;
};

// Passes the process-wide pool to a visitor before it takes a cell of it.
template <class T, policy::lock Lock, class F>
class visiting_allocator : public pool_allocator<T, Lock>, public waiting_visitor<F> {
public:
  template <class U>
  struct rebind {
    using other = visiting_allocator<U, Lock, F>;
  };

  visiting_allocator() = default;
  template <class U>
  visiting_allocator(const visiting_allocator<U, Lock, F>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t n) {
    static_assert(sizeof(T) <= 64 * 1024,
                  "the object and its counts are too large for a pool and would come from operator new");
    pool_allocator<T, Lock>::with_pool(std::ref(*waiting_visitor<F>::visitor));
    return pool_allocator<T, Lock>::allocate(n);
  }
};

template <class T, policy::lock Lock, class F>
using visiting_stand_in = visiting_allocator<shared_stand_in<T>, Lock, F>;

}  // namespace detail

/// Returns: a `T` made from `args`, in one cell of `pool` together with the counts of its owners:
///
///     cell | counts of owners | link to the pool | object |
///
/// The cell goes back after the last `shared_ptr` and `weak_ptr`, so the pool outlives both. `pool` may be any
/// resource. Throws: as the pool and as the constructor. Expects: the cells of a pool have at least
/// `shared_cell_bytes<T>()`. The compiler checks a constant size. A pool that knows its cells (`owns`) reports smaller
/// ones from level `checked` on; at `fast` it takes a block of its upstream instead. Thread safety: as the pool,
/// in the thread of the last owner; a `shared_block_pool` serves any thread.
template <class T, detail::resource_argument R, class... Args>
  requires(!std::is_array_v<T>)
[[nodiscard]] std::shared_ptr<T> allocate_shared_pooled(R&& pool, Args&&... args) {
  return std::allocate_shared<T>(detail::shared_cells_of<T>(pool), std::forward<Args>(args)...);
}

/// As above, in the process-wide pool for cells of that size. Blocks above 64 KiB, counts included, come from operator
/// new. Name a `Lock`, for example `thread_cached`, if the first argument of the constructor is a resource. Thread
/// safety: as `pool_allocator<T, Lock>`: any thread, unless `Lock` is `one_thread`.
template <class T, policy::lock Lock = thread_cached, class... Args>
  requires(!std::is_array_v<T>)
[[nodiscard]] std::shared_ptr<T> allocate_shared_pooled(Args&&... args) {
  return std::allocate_shared<T>(pool_allocator<std::remove_cv_t<T>, Lock>(), std::forward<Args>(args)...);
}

/// Effects: calls `f(pool)` with the process-wide pool of `allocate_shared_pooled<T, Lock>(…)`, under its lock if it
/// has one: to `reserve`, to read `live`. Takes a cell of it temporarily. Throws: as `f`, and `std::bad_alloc`.
template <class T, policy::lock Lock = thread_cached, class F>
void with_shared_pool(F f) {
  using visiting = detail::visiting_stand_in<T, Lock, F>;
  visiting::visitor = std::addressof(f);
  static_cast<void>(std::allocate_shared<typename visiting::value_type>(visiting()));
}

}  // namespace ashlar::ASHLAR_ABI
