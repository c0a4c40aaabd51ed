// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that counts allocations, frees, failures and bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// Counters of a `statistics` adaptor since its construction or last reset. Sizes are the bytes requested.
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
/// be freed with its size. Thread safety: none.
template <resource R>
class statistics : public forwarding<R> {
public:
  using forwarding<R>::forwarding;
  using forwarding<R>::upstream_resource;

  /// As `R::allocate`.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    ++counters_.failures;  // undone on success, so that a call left by an exception counts
    void* const p = upstream_resource().allocate(bytes, alignment);
    --counters_.failures;
    count_allocation(bytes);
    return p;
  }

  /// As `R::try_allocate`.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    void* const p = upstream_resource().try_allocate(bytes, alignment);
    if (p != nullptr) count_allocation(bytes);
    else ++counters_.failures;
    return p;
  }

  /// As `R::deallocate`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    ++counters_.deallocations;
    --counters_.live_blocks;
    counters_.live_bytes -= bytes;
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As `R::release`; every live block counts as deallocated.
  void release() noexcept
    requires releasable_resource<R>
  {
    counters_.deallocations += counters_.live_blocks;
    counters_.live_blocks = counters_.live_bytes = 0;
    upstream_resource().release();
  }

  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    if (!upstream_resource().try_expand(p, bytes, new_bytes, alignment)) return false;
    counters_.live_bytes += new_bytes - bytes;  // modulo 2^n: right for shrinking too
    counters_.peak_bytes = std::max(counters_.peak_bytes, counters_.live_bytes);
    return true;
  }

  [[nodiscard]] const allocation_counters& counters() const noexcept { return counters_; }

  /// Effects: sets the counters to zero; live blocks and bytes stay.
  void reset_counters() noexcept {
    counters_ = {.live_blocks = counters_.live_blocks,
                 .live_bytes = counters_.live_bytes,
                 .peak_blocks = counters_.live_blocks,
                 .peak_bytes = counters_.live_bytes};
  }

  [[nodiscard]] friend bool operator==(const statistics& a, const statistics& b) noexcept {
    return &a == &b;  // a block freed to another one would make both counts wrong
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

  allocation_counters counters_;
};

}  // namespace ashlar::ASHLAR_ABI
