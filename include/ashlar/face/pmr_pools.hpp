// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The standard's two pool resources again, on this library's pools: replace `std::pmr` by `ashlar::pmr`, nothing else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/pool_set_options.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace pmr {

/// A `std::pmr::memory_resource` on a set of pools over any other. `unsynchronized_pool_resource` and
/// `synchronized_pool_resource` are what it is for; they promise what the standard's promise:
///
/// - Constructors allocate nothing; without an upstream it is `std::pmr::get_default_resource()`, asked for then.
/// - Everything comes from the upstream, pools' own memory too, and goes back with the size and alignment it came with:
///   by `release()`, which restores the initial state, or at the end, whether it is live or not.
/// - Of `std::pmr::pool_options`, `largest_required_pool_block` is rounded up to a class and is at most 32 KiB, and
///   `max_blocks_per_chunk` is an upper bound of what a pool asks for at once. Where it leaves no room for a slab,
///   blocks of that size come from the upstream one by one. `options()` tells what is in force; 0 asks for the most.
/// - Chunks grow in proportion to what is held, 64 KiB at first and 4 MiB at last.
///
/// The upstream aligns blocks as it is asked to, by as much as their size: the standard's do.
/// Thread safety: that of `Pools`.
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
  ~basic_pool_resource() override { release(); }  // live blocks are no leak here: many programs end so

  /// Effects: gives everything back to the upstream, blocks that are live included.
  void release() noexcept { pools_.release(); }

  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }

  /// Returns: the options in force.
  [[nodiscard]] std::pmr::pool_options options() const noexcept {
    std::pmr::pool_options told;
    told.max_blocks_per_chunk = std::min(pools_.options().max_growth_count, most_blocks);
    told.largest_required_pool_block = detail::pool_classes::bytes_of(detail::largest_class_of(pools_.options()));
    return told;
  }

  /// Returns: the pools: to ask what they hold, to `trim`.
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
  // A region of 4 MiB of the smallest cells.
  static constexpr std::size_t most_blocks = (std::size_t{4} << 20) / detail::pool_classes::granule;

  [[nodiscard]] static pool_set_options pool_options_of(const std::pmr::pool_options& asked) noexcept {
    const std::size_t most = asked.max_blocks_per_chunk;
    return {.max_cell_bytes = asked.largest_required_pool_block,
            .max_growth_count = most == 0 || most > most_blocks ? detail::max_size : most};
  }

  Pools pools_;
  std::pmr::memory_resource* upstream_;
};

/// In place of `std::pmr::unsynchronized_pool_resource`: see `pool_set`. One thread. A class, as the standard's is, so
/// that a derived class can name its constructors.
class unsynchronized_pool_resource : public basic_pool_resource<pool_set<resource_ref<std::pmr::memory_resource>>> {
public:
  using basic_pool_resource::basic_pool_resource;
};

/// In place of `std::pmr::synchronized_pool_resource`: see `shared_pool_set`. Any thread; the upstream is called by one
/// at a time, so it need not be thread-safe itself.
class synchronized_pool_resource
    : public basic_pool_resource<shared_pool_set<synchronized<resource_ref<std::pmr::memory_resource>>>> {
public:
  using basic_pool_resource::basic_pool_resource;
};

}  // namespace pmr
}  // namespace ASHLAR_ABI
}  // namespace ashlar
