// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that counts what passes through it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// What passed through a `statistics` adaptor since it was made or reset. Sizes are as requested, in bytes.
struct allocation_counters {
  std::uint64_t allocations = 0;      ///< calls that returned a block
  std::uint64_t deallocations = 0;    ///< calls
  std::uint64_t failures = 0;         ///< calls that threw or returned null
  std::uint64_t allocated_bytes = 0;  ///< in total
  std::size_t live_blocks = 0;
  std::size_t live_bytes = 0;
  std::size_t peak_blocks = 0;
  std::size_t peak_bytes = 0;
  std::size_t largest_request = 0;

  [[nodiscard]] friend bool operator==(const allocation_counters&, const allocation_counters&) noexcept = default;
};

/// Owns an `R`, made from the arguments, and behaves as it does. Has the refinements of `R`, except that a block must
/// come back with its size. Thread safety: none.
template <resource R>
class statistics {
public:
  statistics() = default;
  template <class... Args>
    requires(std::constructible_from<R, Args...> && !(std::same_as<std::remove_cvref_t<Args>, statistics> && ...))
  explicit statistics(Args&&... args) : upstream_(std::forward<Args>(args)...) {}

  /// As `R::allocate`.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    ++counters_.failures;  // taken back below: counted even where an exception leaves
    void* const p = upstream_.allocate(bytes, alignment);
    --counters_.failures;
    count_allocation(bytes);
    return p;
  }

  /// As `R::try_allocate`.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    void* const p = upstream_.try_allocate(bytes, alignment);
    if (p != nullptr) count_allocation(bytes);
    else ++counters_.failures;
    return p;
  }

  /// As `R::deallocate`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    ++counters_.deallocations;
    --counters_.live_blocks;
    counters_.live_bytes -= bytes;
    upstream_.deallocate(p, bytes, alignment);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<R>
  {
    return upstream_.owns(p);
  }

  /// As `R::release`; what was live counts as deallocated.
  void release() noexcept
    requires releasable_resource<R>
  {
    counters_.deallocations += counters_.live_blocks;
    counters_.live_blocks = counters_.live_bytes = 0;
    upstream_.release();
  }

  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    if (!upstream_.try_expand(p, bytes, new_bytes, alignment)) return false;
    counters_.live_bytes += new_bytes - bytes;  // modulo 2^n: right for a shrink too
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.live_bytes);
    return true;
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<R>
  {
    upstream_.prefault(p, bytes);
  }

  [[nodiscard]] const allocation_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] R& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const R& upstream_resource() const noexcept { return upstream_; }

  /// Effects: starts to count anew; what is live stays counted as live.
  void reset_counters() noexcept {
    counters_ = {.live_blocks = counters_.live_blocks,
                 .live_bytes = counters_.live_bytes,
                 .peak_blocks = counters_.live_blocks,
                 .peak_bytes = counters_.live_bytes};
  }

  [[nodiscard]] friend bool operator==(const statistics& a, const statistics& b) noexcept {
    return &a == &b;  // a block that came back elsewhere would make both counts wrong
  }

  [[nodiscard]] bool invariant() const noexcept {
    return counters_.live_blocks <= counters_.peak_blocks && counters_.live_bytes <= counters_.peak_bytes;
  }

private:
  void count_allocation(std::size_t bytes) noexcept {
    ++counters_.allocations;
    counters_.allocated_bytes += bytes;
    counters_.peak_blocks = std::max(counters_.peak_blocks, ++counters_.live_blocks);
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.live_bytes += bytes);
    counters_.largest_request = std::max(counters_.largest_request, bytes);
  }

  ASHLAR_NO_UNIQUE_ADDRESS R upstream_;
  allocation_counters counters_;
};

}  // namespace ashlar::inline ASHLAR_ABI
