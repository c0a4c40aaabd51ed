// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared library: a heap found through the thread's own pointer, as a malloc does.

#include "called_heap.hpp"

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/heap/local_heap.hpp>

namespace {

[[gnu::tls_model("initial-exec")]] thread_local ashlar::local_heap<>* heap_of_thread = nullptr;

ASHLAR_COLD void* make_heap_and_allocate(std::size_t bytes) {
  static ashlar::local_heap<> only;  // the benches have one thread
  heap_of_thread = &only;
  return only.allocate(bytes);
}

constexpr std::size_t circle_bytes = std::size_t{2} << 20;
alignas(4096) std::byte circle[circle_bytes];
[[gnu::tls_model("initial-exec")]] thread_local std::size_t cursor_of_thread = 0;

}  // namespace

void* bench_called_allocate(std::size_t bytes) {
  if (ASHLAR_UNLIKELY(heap_of_thread == nullptr)) return make_heap_and_allocate(bytes);
  return heap_of_thread->allocate(bytes);
}

void bench_called_free(void* p) noexcept { heap_of_thread->deallocate(p); }

void bench_called_free_sized(void* p, std::size_t bytes) noexcept { heap_of_thread->deallocate(p, bytes); }

void* bench_called_null_allocate(std::size_t bytes) {
  const std::size_t at = cursor_of_thread + bytes <= circle_bytes ? cursor_of_thread : 0;
  cursor_of_thread = at + ((bytes + 15) & ~std::size_t{15});
  return circle + at;
}

void bench_called_null_free(void*) noexcept {}
