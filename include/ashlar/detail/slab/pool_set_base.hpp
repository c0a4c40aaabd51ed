// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of the pools for many sizes: the upstream, divided if necessary, and the blocks too large for a cell.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/large_blocks.hpp>
#include <ashlar/detail/slab/pool_set_classes.hpp>
#include <ashlar/detail/slab/set_upstream.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/resource/pool_set_options.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Effects: trims `pool`, and subtracts its retained bytes from `retain_bytes`. Returns: bytes given back.
template <class Pool>
std::size_t trim_within(Pool& pool, std::size_t& retain_bytes) noexcept {
  const std::size_t given = pool.trim(retain_bytes);
  retain_bytes -= std::min(retain_bytes, pool.retained_bytes());
  return given;
}

/// The base of `pool_set` (`null_lock`) and `shared_pool_set` (`spin_lock`).
/// Thread safety: any thread with a lock and a thread-safe upstream, else none.
template <resource Upstream, basic_lockable Lock>
class pool_set_base {
public:
  using upstream_type = set_upstream<Upstream, Lock>;

  template <class... Args>
  constexpr explicit pool_set_base(const pool_set_options& options, Args&&... upstream)
      : upstream_(std::forward<Args>(upstream)...), options_(options) {}

  [[nodiscard]] const pool_set_options& options() const noexcept { return options_; }

  /// Returns: the upstream of all requests, which counts them.
  [[nodiscard]] upstream_type& upstream() noexcept { return upstream_; }
  [[nodiscard]] const upstream_type& upstream() const noexcept { return upstream_; }

  /// Returns: whether a request has a class; the class may still have no cells.
  [[nodiscard]] static ASHLAR_INLINE bool may_be_a_cell(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= pool_classes::largest && alignment <= largest_cell_alignment && is_power_of_two(alignment);
  }

  /// Returns: the class of a request that cells can serve, else `none`. Complexity: a dozen divisions.
  [[nodiscard]] std::size_t class_with_cells(std::size_t bytes, std::size_t alignment) const noexcept {
    if (!may_be_a_cell(bytes, alignment)) return pool_classes::none;
    const std::size_t size_class = pool_classes::of(bytes, alignment);
    if (size_class > largest_class_of(options_) || pool_options_of(size_class).slab_bytes == 0)
      return pool_classes::none;
    return size_class;
  }

  [[nodiscard]] block_pool_options pool_options_of(std::size_t size_class) const noexcept {
    return options_of_class<Upstream>(size_class, options_);
  }

  [[nodiscard]] class_upstream<upstream_type> upstream_of(const block_pool_options& options) noexcept {
    return {upstream_, options, options_.max_growth_count};
  }

  /// Returns: a large block; null, or throws as the upstream, if that has no memory left.
  template <failure Failure = or_throw>
  [[nodiscard]] void* allocate_large(std::size_t bytes, std::size_t alignment,
                                     const void* resource) noexcept(Failure == or_null) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) return failed<Failure>(bytes, alignment);
    const auto whole = large_blocks::extent_of(bytes, alignment);
    if (!is_valid_request(whole.bytes, whole.alignment)) return failed<Failure>(whole.bytes, whole.alignment);
    void* const p = allocate_from<Failure>(upstream(), whole.bytes, whole.alignment);
    return p != nullptr ? keep(p, bytes, alignment, resource) : nullptr;
  }

  /// Effects: takes a large block back; reports misuse in the name of `resource`.
  void deallocate_large(void* p, std::size_t bytes, std::size_t alignment, const void* resource) noexcept {
    if constexpr (checking_level >= checking::checked) check_is_large(p, bytes, alignment, resource);
    {
      const large_scope held(lock_);
      if constexpr (checking_level >= checking::checked) large_.check(p, bytes, alignment, resource);
      large_.remove(p, bytes, resource);
    }
    give_back(p, bytes, alignment);
  }

  /// Effects: gives all large blocks back. Expects: no other thread uses them.
  void release_large(const void* resource) noexcept {
    for (large_block first = large_.remove_first(resource); first.start != nullptr;
         first = large_.remove_first(resource))
      give_back(first.start, first.bytes, first.alignment);
  }

  /// Returns: `f(large_blocks)`, called under the lock.
  template <class F>
  auto with_large(F f) const noexcept {
    const large_scope held(lock_);
    return f(large_);
  }

  [[nodiscard]] bool invariant() const noexcept {
    return upstream_.invariant() && with_large([](const large_blocks& large) { return large.invariant(); });
  }

  /// Effects: holds the locks, so that a fork finds them free.
  void before_fork() noexcept {
    lock_.lock();
    upstream_.lock().lock();
  }

  void after_fork() noexcept {
    upstream_.lock().unlock();
    lock_.unlock();
  }

private:
  // Every level reports damaged notes, outside the lock.
  using large_scope = std::conditional_t<std::same_as<Lock, null_lock>, lock_scope<Lock>, report_scope<Lock>>;

  // The class has cells, but no pool so far.
  void check_is_large(const void* p, std::size_t bytes, std::size_t alignment, const void* resource) const noexcept {
    if (class_with_cells(bytes, alignment) == pool_classes::none) return;
    report({.kind = fault::invalid_free,
            .what = "freed a block of a size that this pool set never allocated",
            .pointer = p,
            .resource = resource,
            .size = bytes});
  }

  [[nodiscard]] void* keep(void* p, std::size_t bytes, std::size_t alignment, const void* resource) noexcept {
    const large_scope held(lock_);
    return large_.add(p, bytes, alignment, resource);
  }

  void give_back(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const auto whole = large_blocks::extent_of(bytes, alignment);
    upstream().deallocate(large_blocks::whole_of(p, alignment), whole.bytes, whole.alignment);
  }

  upstream_type upstream_;
  large_blocks large_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable Lock lock_ = {};
  pool_set_options options_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
