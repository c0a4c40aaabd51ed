// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts all requests of a program for memory, from malloc and everything over it: operator new, the standard library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "tests/support/build.hpp"

namespace ashlar_test {

inline std::atomic<std::size_t> mallocs = 0;

#if defined(__GLIBC__)
/// Whether they are counted: a sanitizer has its own malloc.
inline constexpr bool counts_mallocs = !has_asan && !has_tsan;
#else
inline constexpr bool counts_mallocs = false;
#endif

}  // namespace ashlar_test

// The program's functions precede those of the C library, which exports them under a second name, too.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define ASHLAR_COUNT_MALLOCS
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define ASHLAR_COUNT_MALLOCS
#endif
#endif

#if defined(ASHLAR_COUNT_MALLOCS)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  ashlar_test::mallocs.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ashlar_test::mallocs.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* p, std::size_t bytes) {
  ashlar_test::mallocs.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ashlar_test::mallocs.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) {
  ashlar_test::mallocs.fetch_add(1, std::memory_order_relaxed);
  *p = __libc_memalign(alignment, bytes);
  return *p != nullptr ? 0 : 12;  // ENOMEM
}
}
#endif
