// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the models of threads that come and go do with the heap for any thread.
#pragma once

#include "heap.hpp"

#include <ashlar/detail/heap/heap_members.hpp>

namespace models {

using ashlar::detail::thread_caches;
using heap_members = ashlar::detail::heap_members<source>;

[[nodiscard]] inline void* take(heap_members& from, int by) {
  void* const cell = from.allocate_by(16, 16, [](heap_members::owner& its) { return its.try_allocate(16); });
  hold(cell, by);
  return cell;
}

/// As `heap` frees: what is of the thread's heap at once; else the block travels.
inline void free(heap_members& heap, void* cell, int by) {
  let_go(cell, by);
  heap_members::member* const mine = heap.recent();
  if (mine != nullptr && heap_members::owner::of(cell) == &mine->blocks) return mine->blocks.deallocate(cell);
  heap.deallocate_by(cell, [&](heap_members::owner& its) { its.deallocate(cell); });
}

}  // namespace models
