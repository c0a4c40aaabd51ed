// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool without a lock, bound to the first thread that uses it.
#pragma once

#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Binds a pool to the first thread that uses it. Threads have numbers, which are never given twice: an address of a
/// thread-local variable would let a thread pass for an ended one. A forked child is the thread that forked.
class thread_binding {
public:
  /// Effects: reports the first call by a second thread, once, so that the handler may use the pool.
  ASHLAR_INLINE void expect_own_thread(const void* pool, std::size_t cell_bytes) noexcept {
    if (ASHLAR_UNLIKELY(owner_.load(memory_order_relaxed) != this_thread_)) bind(pool, cell_bytes);
  }

private:
  static constexpr std::size_t nobody = 0;
  static constexpr std::size_t anybody = max_size;  // after the report
  static constexpr std::size_t unnumbered = max_size - 1;

  ASHLAR_COLD void bind(const void* pool, std::size_t cell_bytes) noexcept {
    if (this_thread_ == unnumbered) this_thread_ = latest_.fetch_add(1, memory_order_relaxed) + 1;
    std::size_t owner = nobody;
    if (owner_.compare_exchange_strong(owner, this_thread_, memory_order_relaxed, memory_order_relaxed)) return;
    if (owner_.exchange(anybody, memory_order_relaxed) == anybody) return;
    report({.what = "used a pool of one_thread in a second thread", .resource = pool, .size = cell_bytes});
  }

  static inline constinit atomic<std::size_t> latest_ = nobody;
  static inline constinit ASHLAR_THREAD_LOCAL std::size_t this_thread_ = unnumbered;

  atomic<std::size_t> owner_ = nobody;
};

}  // namespace ashlar::ASHLAR_ABI::detail
