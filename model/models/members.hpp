// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of the models in which threads of one heap start and end.
#pragma once

#include "heap.hpp"

#include <ashlar/detail/heap_threads/thread_heap_registry.hpp>

namespace models {

using ashlar::detail::thread_directory;
using thread_heap_registry = ashlar::detail::thread_heap_registry<source>;

[[nodiscard]] inline void* take(thread_heap_registry& from, int by) {
  const auto allocate = [](thread_heap_registry::owner& its, bool) { return its.try_allocate(16); };
  void* const cell = from.allocate_by(16, 16, allocate);
  hold(cell, by);
  return cell;
}

/// As `heap` frees: a block of the thread's heap at once, any other by a parcel.
inline void free(thread_heap_registry& heap, void* cell, int by) {
  release_cell(cell, by);
  thread_heap_registry::thread_heap* const mine = heap.cached();
  if (mine != nullptr && thread_heap_registry::owner::segment::heap_of(cell) == &mine->blocks)
    return mine->blocks.deallocate(cell);
  heap.deallocate_by(cell, [&](thread_heap_registry::owner& its) { its.deallocate(cell); });
}

}  // namespace models
