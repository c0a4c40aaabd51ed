// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A malloc to preload: the C library's own, under the names for interposers; with SLOW_MALLOC behind hundreds of steps
// of arithmetic.
#include <cstddef>

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) noexcept {
#if defined(SLOW_MALLOC)
  volatile unsigned sum = 1;
  for (int i = 0; i < 400; ++i) sum = sum * 1664525U + 1013904223U;
#endif
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept { return __libc_calloc(count, size); }
void* realloc(void* block, std::size_t size) noexcept { return __libc_realloc(block, size); }
void free(void* block) noexcept { __libc_free(block); }
}
