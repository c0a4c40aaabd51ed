// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Heaps as objects: the list of all, the default heap of a thread, and the heap of an address.
#pragma once

#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/locked_heap.hpp"

/// A heap of `ashlar_malloc.h`. It lies in a block of the process heap.
struct ashlar_heap : ashlar::drop_in::locked_heap, ashlar::detail::list_node<ashlar_heap> {
  using ashlar::drop_in::locked_heap::locked_heap;
};

namespace ashlar::drop_in {

/// Returns: a new heap, or null.
[[nodiscard]] ashlar_heap* make_heap(const heap_options& limits) noexcept;
/// Effects: ends a heap. Expects: no thread uses it.
void end_heap(ashlar_heap* heap) noexcept;

/// Returns: whether the pointer names a heap that has not ended. It is not read. Complexity: O(heaps), a lock.
[[nodiscard]] bool is_heap(const ashlar_heap* heap) noexcept;

/// Returns: the heap with the address in its memory; null for addresses of the process heap, and of none. `p` is not
/// read. Complexity: O(heaps and their threads), a lock for each.
[[nodiscard]] ashlar_heap* heap_with(const void* p) noexcept;
/// As `heap_with`, of the heap that a block at `p` would have. Complexity: at level `fast` O(1) without a lock, but for
/// huge blocks and for addresses outside of the range of the process.
[[nodiscard]] ashlar_heap* heap_of_block(const void* p) noexcept;

/// Returns: the default heap of the calling thread; null: the process heap.
[[nodiscard]] ashlar_heap* default_of_thread() noexcept;
/// Effects: makes `heap` the default of the calling thread. Returns: the former one. Null: the process heap.
ashlar_heap* set_default_of_thread(ashlar_heap* heap) noexcept;

/// Returns: whether there is a heap. / whether a thread has ever had a default.
extern constinit ASHLAR_OF_THIS_LIBRARY detail::atomic<std::size_t> heap_count;
[[nodiscard]] inline bool has_heaps() noexcept { return heap_count.load(detail::memory_order_relaxed) != 0; }
[[nodiscard]] bool has_default_heaps() noexcept;

}  // namespace ashlar::drop_in
