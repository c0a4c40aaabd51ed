// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine code of a heap: a shared library with every entry point of ashlar::local_heap, for
// bench/heap/code_size.py.

#include <cstddef>

#include <ashlar/base/resource.hpp>
#include <ashlar/heap/local_heap.hpp>

#define ASHLAR_BENCH_ENTRY extern "C" __attribute__((visibility("default")))

namespace {

ashlar::local_heap<> heap;

}  // namespace

ASHLAR_BENCH_ENTRY void* heap_allocate(std::size_t bytes) { return heap.allocate(bytes); }
ASHLAR_BENCH_ENTRY void* heap_allocate_aligned(std::size_t bytes, std::size_t alignment) {
  return heap.allocate(bytes, alignment);
}
ASHLAR_BENCH_ENTRY void* heap_allocate_64() { return heap.allocate<64>(); }
ASHLAR_BENCH_ENTRY void* heap_allocate_zeroed(std::size_t bytes) { return heap.allocate_zeroed(bytes); }
ASHLAR_BENCH_ENTRY std::size_t heap_allocate_at_least(std::size_t bytes, void** p) {
  const ashlar::block got = heap.allocate_at_least(bytes);
  *p = got.data;
  return got.size;
}
ASHLAR_BENCH_ENTRY void* heap_try_allocate(std::size_t bytes) { return heap.try_allocate(bytes); }
ASHLAR_BENCH_ENTRY void heap_deallocate(void* p) { heap.deallocate(p); }
ASHLAR_BENCH_ENTRY void heap_deallocate_sized(void* p, std::size_t bytes) { heap.deallocate(p, bytes); }
ASHLAR_BENCH_ENTRY void heap_deallocate_sized_aligned(void* p, std::size_t bytes, std::size_t alignment) {
  heap.deallocate(p, bytes, alignment);
}
ASHLAR_BENCH_ENTRY void heap_deallocate_64(void* p) { heap.deallocate<64>(p); }
ASHLAR_BENCH_ENTRY bool heap_try_expand(void* p, std::size_t bytes, std::size_t more) {
  return heap.try_expand(p, bytes, more, ashlar::local_heap<>::least_alignment);
}
ASHLAR_BENCH_ENTRY void* heap_reallocate(void* p, std::size_t bytes) { return heap.reallocate(p, bytes); }
ASHLAR_BENCH_ENTRY void* heap_try_reallocate(void* p, std::size_t bytes) { return heap.try_reallocate(p, bytes); }
ASHLAR_BENCH_ENTRY std::size_t heap_usable_size(const void* p) { return heap.usable_size(p); }
ASHLAR_BENCH_ENTRY bool heap_owns(const void* p) { return heap.owns(p); }
ASHLAR_BENCH_ENTRY void heap_visit(void (*f)(void* p, std::size_t bytes)) { heap.for_each_live(f); }
ASHLAR_BENCH_ENTRY void heap_release() { heap.release(); }
ASHLAR_BENCH_ENTRY std::size_t heap_trim(std::size_t retain_bytes) { return heap.trim(retain_bytes); }
