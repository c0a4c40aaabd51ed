// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The standard's two pool resources on this library's pools: `ashlar::pmr` replaces `std::pmr`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/pool_set_base.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace ashlar::ASHLAR_ABI::pmr {

/// The base of `unsynchronized_pool_resource` and `synchronized_pool_resource`: a `std::pmr::memory_resource` that owns
/// a set of pools. Both keep the promises of the standard's resources:
///
/// - Constructors allocate nothing. The default upstream is `std::pmr::get_default_resource()` at construction.
/// - All memory comes from the upstream, including the pools' own, and goes back with its size and alignment: by
///   `release()`, which restores the initial state, or in the destructor, live blocks included.
/// - Of `std::pmr::pool_options`, `largest_required_pool_block` is rounded up to a size class and is at most 32 KiB.
///   `max_blocks_per_chunk` limits one request of a pool; if it leaves no room for a slab, blocks of that size come
///   from the upstream one by one. `options()` returns the values in force; 0 selects the maximum.
/// - The first chunk for cells of up to some 900 bytes has 1 to 4 KiB. Others grow in proportion to the held memory,
///   from 64 KiB to 4 MiB.
///
/// The upstream aligns blocks as requested, up to their size, as the standard's do. Thread safety: as `Pools`.
template <class Pools>
class basic_pool_resource : public std::pmr::memory_resource {
public:
  basic_pool_resource() : basic_pool_resource({}, std::pmr::get_default_resource()) {}
  explicit basic_pool_resource(std::pmr::memory_resource* upstream) : basic_pool_resource({}, upstream) {}
  explicit basic_pool_resource(const std::pmr::pool_options& options)
      : basic_pool_resource(options, std::pmr::get_default_resource()) {}
  basic_pool_resource(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream)
      : pools_(pool_options_of(options), *upstream), upstream_(upstream) {}

  basic_pool_resource(const basic_pool_resource&) = delete;
  basic_pool_resource& operator=(const basic_pool_resource&) = delete;
  ~basic_pool_resource() override { release(); }  // live blocks are not a leak here: many programs end this way

  /// Effects: gives everything back to the upstream, live blocks included.
  void release() noexcept { pools_.release(); }

  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }
  /// Returns: the bytes held from the upstream. Complexity: O(1). Thread safety: as the pools.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return pools_.held_bytes(); }

  /// Returns: the options in force.
  [[nodiscard]] std::pmr::pool_options options() const noexcept {
    std::pmr::pool_options told;
    told.max_blocks_per_chunk = std::min(pools_.options().max_growth_count, most_blocks);
    told.largest_required_pool_block = pools_.max_cell_bytes();
    return told;
  }

  /// Returns: the pools, for queries and `trim`.
  [[nodiscard]] Pools& pools() noexcept { return pools_; }
  [[nodiscard]] const Pools& pools() const noexcept { return pools_; }

protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return pools_.allocate(bytes, alignment); }

  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    pools_.deallocate(p, bytes, alignment);
  }

  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

private:
  // The number of the smallest cells in the largest chunk, 4 MiB.
  static constexpr std::size_t most_blocks = (std::size_t{4} << 20) / detail::pool_classes::granule;

  [[nodiscard]] static pool_set_options pool_options_of(const std::pmr::pool_options& asked) noexcept {
    const std::size_t most = asked.max_blocks_per_chunk;
    return {.max_cell_bytes = asked.largest_required_pool_block,
            .max_growth_count = most == 0 || most > most_blocks ? max_size : most};
  }

  Pools pools_;
  std::pmr::memory_resource* upstream_;
};

/// Replaces `std::pmr::unsynchronized_pool_resource`: see `pool_set`. One thread. A class, as the standard's is, so
/// that a derived class can name its constructors.
class unsynchronized_pool_resource : public basic_pool_resource<pool_set<resource_ref<std::pmr::memory_resource>>> {
public:
  using basic_pool_resource::basic_pool_resource;
};

/// Replaces `std::pmr::synchronized_pool_resource`: see `shared_pool_set`. Any thread; one thread at a time calls the
/// upstream, so it need not be thread-safe itself.
class synchronized_pool_resource
    : public basic_pool_resource<shared_pool_set<synchronized<resource_ref<std::pmr::memory_resource>>>> {
public:
  using basic_pool_resource::basic_pool_resource;
};

}  // namespace ashlar::ASHLAR_ABI::pmr
