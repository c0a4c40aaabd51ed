// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The world of the stateless allocators: one place, the pools of the process, each observed.
#pragma once

#include <cstddef>
#include <scoped_allocator>
#include <type_traits>
#include <vector>

#include <ashlar/face/pool_allocator.hpp>

#include "tests/support/ledger.hpp"

namespace ashlar_test {

/// The balance of the stateless allocators of one lock, and the pools that they have ever used.
template <class Lock>
struct pool_watch {
  static inline holdings out;
  static inline std::vector<std::size_t (*)()> pools;

  template <class T>
  static bool watch() {
    pools.push_back(live_cells<T>);
    return true;
  }

  // The pool counts cells of a thread cache as taken, so they go back first.
  template <class T>
  static std::size_t live_cells() {
    using pooled = ashlar::pool_allocator<T, Lock>;
    if constexpr (requires { pooled::flush(); }) pooled::flush();
    return pooled::with_pool([](auto& pool) { return pool.live(); });
  }
};

/// An observed `pool_allocator`: the live cells of its pools cannot be counted without the node's type.
template <class T, class Lock>
class watched_pool_allocator : public ashlar::pool_allocator<T, Lock> {
  using base = ashlar::pool_allocator<T, Lock>;
  using watch = pool_watch<Lock>;

public:
  template <class U>
  struct rebind {
    using other = watched_pool_allocator<U, Lock>;
  };

  watched_pool_allocator() = default;
  template <class U>
  watched_pool_allocator(const watched_pool_allocator<U, Lock>& other) noexcept : base(other) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    [[maybe_unused]] static const bool known = watch::template watch<T>();
    T* const p = base::allocate(n);
    watch::out = {watch::out.blocks + 1, watch::out.bytes + n * sizeof(T)};
    return p;
  }
  void deallocate(T* p, std::size_t n) noexcept {
    watch::out = {watch::out.blocks - 1, watch::out.bytes - n * sizeof(T)};
    base::deallocate(p, n);
  }
};

template <class Lock>
struct pool_world {
  template <class T>
  using allocator = watched_pool_allocator<T, Lock>;
  template <class T>
  using nesting = std::scoped_allocator_adaptor<allocator<T>>;
  static constexpr bool apart = false;
  static constexpr bool is_of_one_thread = std::is_same_v<Lock, ashlar::one_thread>;

  template <class T>
  [[nodiscard]] allocator<T> first() const {
    return {};
  }
  template <class T>
  [[nodiscard]] allocator<T> second() const {
    return {};
  }
  [[nodiscard]] holdings balance() const {
    holdings sum = pool_watch<Lock>::out;
    for (const auto live : pool_watch<Lock>::pools) sum.blocks += live();
    return sum;
  }
};

}  // namespace ashlar_test
