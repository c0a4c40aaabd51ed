// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the bytes of operator new, which gives the planner's own memory. Included by one source only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace ashlar::bench {

struct heap_use {
  std::size_t now = 0;
  std::size_t peak = 0;
};

inline heap_use heap;

}  // namespace ashlar::bench

void* operator new(std::size_t bytes) {
  void* const p = std::malloc(bytes);
  if (p == nullptr) std::abort();
  ashlar::bench::heap_use& heap = ashlar::bench::heap;
  heap.now += malloc_usable_size(p);
  heap.peak = std::max(heap.peak, heap.now);
  return p;
}

void operator delete(void* p) noexcept {
  ashlar::bench::heap.now -= malloc_usable_size(p);
  std::free(p);
}

void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
