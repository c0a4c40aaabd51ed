// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sampled profile of the heap: live bytes and allocations by stack, about one sample for a number of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/page_map.hpp>

#include "malloc/call_stack.hpp"

namespace ashlar::drop_in {

/// Bytes that the calling thread allocates until its next sample.
ASHLAR_IN_STATIC_TLS extern constinit thread_local std::int64_t until_profiled;

/// Effects: counts bytes. Returns: whether they may contain a sample, which `heap_profile::is_sample` decides.
[[nodiscard]] ASHLAR_INLINE bool counts_bytes(std::size_t bytes) noexcept {
  return ASHLAR_UNLIKELY((until_profiled -= static_cast<std::int64_t>(bytes)) < 0);
}

/// A sampled block and where it was allocated.
struct profiled_block {
  const void* block = nullptr;  ///< null: none
  std::size_t bytes = 0;        ///< as requested; 0: none
  std::uint32_t site = 0;
};

/// The bytes of all allocations are one line, on which samples lie at exponential distances: a block of n bytes is a
/// sample with the probability 1 - exp(-n / interval), and what is counted for it is divided by that. Readers of the
/// file do so. Sampled blocks start with a slice, so that only the slow path of a free looks for them; a small one
/// occupies a slice of address space and the pages that it touches. The tables are mapped pages of their own.
/// Thread safety: any thread; a fork waits for the lock.
class heap_profile {
public:
  /// Effects: samples from now on. Expects: one thread at a time.
  static void begin(std::uint32_t interval) noexcept;
  [[nodiscard]] static ASHLAR_INLINE bool is_on() noexcept {
    return ASHLAR_UNLIKELY(interval_.load(detail::memory_order_acquire) != 0);  // pairs with begin()
  }

  /// Effects: after `counts_bytes`, begins the next distance. Returns: whether the bytes contain a sample.
  [[nodiscard]] static bool is_sample(std::size_t bytes) noexcept;
  /// Effects: counts a sample. Expects: `p` is a block of at least `bytes` bytes at the start of a slice.
  static void add(const void* p, std::size_t bytes, const caller_frame& caller) noexcept;

  /// Returns: whether a sample may have the address.
  [[nodiscard]] static ASHLAR_INLINE bool may_have(const void* p) noexcept {
    return is_on() && ashlar::is_aligned(p, detail::slice_bytes);
  }
  /// @{ Returns: the sample at the address, or none. `take_out`: it is no longer live; `put_back`: it is again.
  [[nodiscard]] static profiled_block find(const void* p) noexcept;
  static profiled_block take_out(const void* p) noexcept;
  static void put_back(const profiled_block& block) noexcept;
  /// @}

  /// Effects: writes the profile in the text format of pprof to the file that `path` names, with the number of the
  /// process for `%p`. Async-signal-safe: where the lock is taken, its holder writes.
  static void write(const char* path) noexcept;

  /// Effects: writes the stacks with the most live bytes to standard error, at most three; nothing without a profile.
  static void write_holders() noexcept;

private:
  static constinit inline detail::atomic<std::uint32_t> interval_ = 0;
};

}  // namespace ashlar::drop_in
