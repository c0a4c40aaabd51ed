// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource over the system's pages that chooses the memory they lie in, on a machine with several (NUMA nodes).
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/numa_calls.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// A node of a machine with several memories, by the system's number.
struct numa_node {
  std::size_t number = 0;
};

/// As `page_resource`, with pages in turn on all nodes, or all on one. A wish: where the system has one memory, knows
/// no such node or refuses, and while a node is full, pages lie where the system places them. All instances are equal:
/// any releases the blocks of any. Complexity: one system call more than `page_resource` for each block. Thread safety:
/// any thread.
template <class Upstream, class Calls>
class basic_numa_resource {
  static_assert(process_wide_resource<Upstream>);
  using nodes = decltype(Calls::allowed());

public:
  static constexpr bool is_thread_safe = true;
  static constexpr std::size_t least_part_bytes = least_part<Upstream>;

  /// Effects: pages lie in turn on all nodes from which the process may have memory: no node's memory is the bottleneck
  /// of threads on all.
  basic_numa_resource() noexcept : nodes_(Calls::allowed()), policy_(detail::numa_policy::interleaved) {}

  /// Effects: pages lie on `node`, or on another while that one is full: for the threads that run there.
  explicit basic_numa_resource(numa_node node) noexcept : policy_(detail::numa_policy::preferred) {
    if (node.number < nodes::most) nodes_.add(node.number);
  }

  /// Returns: on how many nodes the process may have memory; 1 where the system does not tell.
  [[nodiscard]] static std::size_t node_count() noexcept {
    const std::size_t known = Calls::allowed().count();
    return known != 0 ? known : 1;
  }

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: zeroed pages, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = Upstream().try_allocate(bytes, alignment);
    if (p != nullptr && nodes_.count() != 0) static_cast<void>(Calls::place(p, bytes, policy_, nodes_));
    return p;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    Upstream().deallocate(p, bytes, alignment);
  }

  /// Returns: whether the block at `p` now has `new_bytes` bytes at the same address; added pages are zero, and lie as
  /// the first ones do.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<Upstream>
  {
    return Upstream().try_expand(p, bytes, new_bytes, alignment);
  }

  /// Effects: makes the whole pages inside the range resident now, where they belong.
  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    Upstream().prefault(p, bytes);
  }

  [[nodiscard]] friend bool operator==(const basic_numa_resource&, const basic_numa_resource&) noexcept { return true; }

private:
  nodes nodes_{};
  detail::numa_policy policy_;
};

}  // namespace ashlar::ASHLAR_ABI
