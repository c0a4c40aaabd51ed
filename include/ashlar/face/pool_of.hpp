// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pool that serves the nodes of a standard container.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/node_bytes.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// The pool behind `Allocator`, a `pool_allocator` of nodes. No data: all objects of a type are one pool of the
/// process. Each call takes the lock of the pool, if it has one. Thread safety: as the allocator.
template <class Allocator>
class node_pool {
public:
  /// Effects: makes sure that `nodes` nodes need no upstream call, until `trim`. Throws: as the allocator.
  void reserve(std::size_t nodes) const {
    Allocator::with_pool([nodes](auto& pool) { pool.reserve(nodes); });
  }
  /// Effects: retains empty slabs by `policy` from now on; surplus ones go back at once.
  void retain(retain_policy policy) const noexcept {
    Allocator::with_pool([policy](auto& pool) { pool.retain(policy); });
  }
  /// Effects: gives back the free cells that the calling thread has cached, then empty slabs except for `retain_bytes`
  /// of them; other threads keep theirs. Returns: bytes given back by the second step.
  std::size_t trim(std::size_t retain_bytes = 0) const noexcept {
    if constexpr (requires { Allocator::flush(); }) Allocator::flush();
    return Allocator::with_pool([retain_bytes](auto& pool) { return pool.trim(retain_bytes); });
  }

  /// Returns: the live nodes of all containers that share the pool, plus cells in caches of other threads.
  [[nodiscard]] std::size_t live() const noexcept {
    return Allocator::with_pool([](auto& pool) { return pool.live(); });
  }
  [[nodiscard]] std::size_t capacity() const noexcept {
    return Allocator::with_pool([](auto& pool) { return pool.capacity(); });
  }
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return Allocator::with_pool([](auto& pool) { return pool.held_bytes(); });
  }
  [[nodiscard]] std::size_t cell_bytes() const noexcept {
    return Allocator::with_pool([](auto& pool) { return pool.cell_bytes(); });
  }
  [[nodiscard]] std::size_t slab_bytes() const noexcept {
    return Allocator::with_pool([](auto& pool) { return pool.slab_bytes(); });
  }
};

/// Returns: the pool that serves the nodes of a standard list, set, map or hash table: a `node_pool` for a
/// `pool_allocator`, the resource for an allocator that refers to one.
///
///     std::list<int, ashlar::pool_allocator<int>> numbers;
///     ashlar::pool_of(numbers).reserve(1000);
template <class Container>
[[nodiscard]] decltype(auto) pool_of(const Container& container) noexcept {
  using allocator = typename Container::allocator_type;
  if constexpr (requires { container.get_allocator().resource(); }) {
    return container.get_allocator().resource();
  } else {
    using node = typename detail::node_of<Container>::type;
    return node_pool<typename std::allocator_traits<allocator>::template rebind_alloc<node>>();
  }
}

}  // namespace ashlar::ASHLAR_ABI
