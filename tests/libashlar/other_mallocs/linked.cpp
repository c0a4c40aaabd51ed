// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that is linked with another malloc, and uses each of its names that make or take a block of malloc. OTHER
// is 1 for jemalloc, 2 for tcmalloc, 3 for mimalloc.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <malloc.h>

#include "tests/support/operator_forms.hpp"

extern "C" {
#if OTHER == 1
void* mallocx(std::size_t bytes, int flags);
void* rallocx(void* p, std::size_t bytes, int flags);
std::size_t xallocx(void* p, std::size_t bytes, std::size_t extra, int flags);
std::size_t sallocx(const void* p, int flags);
std::size_t nallocx(std::size_t bytes, int flags);
void dallocx(void* p, int flags);
void sdallocx(void* p, std::size_t bytes, int flags);
int mallctl(const char* name, void* old, std::size_t* old_bytes, void* value, std::size_t bytes);
#elif OTHER == 2
std::size_t malloc_size(void* p);
std::size_t MallocExtension_GetAllocatedSize(const void* p);
std::size_t MallocExtension_GetEstimatedAllocatedSize(std::size_t bytes);
void MallocExtension_ReleaseFreeMemory();
void* tc_malloc(std::size_t bytes);
void* tc_new(std::size_t bytes);
void tc_free(void* p);
void tc_delete(void* p);
int __posix_memalign(void** out, std::size_t alignment, std::size_t bytes);
void __libc_cfree(void* p);
#else
std::size_t malloc_size(const void* p);
std::size_t malloc_good_size(std::size_t bytes);
void* reallocf(void* p, std::size_t bytes);
int reallocarr(void* place, std::size_t count, std::size_t each);
void vfree(void* p);
void* _aligned_malloc(std::size_t alignment, std::size_t bytes);
void* mi_malloc(std::size_t bytes);
void* mi_new(std::size_t bytes);
void mi_free(void* p);
#endif
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* p);
}

namespace {

void expect(bool condition, const char* what, std::size_t n) {
  if (condition) return;
  std::fprintf(stderr, "not so, at %zu: %s\n", n, what);
  std::_Exit(1);
}
#define EXPECT(condition) expect(condition, #condition, n)

/// Returns: `p`, of which all `n` bytes are written to.
void* filled(void* p, std::size_t n) {
  EXPECT(p != nullptr && malloc_usable_size(p) >= n);
  return std::memset(p, 7, n);
}

#if OTHER == 1
void use_own_names(std::size_t n) {
  std::free(filled(mallocx(n, 0), n));
  dallocx(filled(mallocx(n, 8), n), 8);  // at 256
  dallocx(filled(std::malloc(n), n), 0);
  sdallocx(filled(std::malloc(n), n), n, 0);
  ::operator delete(filled(mallocx(n, 0), n));
  const auto* const zeros = static_cast<char*>(mallocx(n, 0x40));
  EXPECT(std::all_of(zeros, zeros + n, [](char c) { return c == 0; }));
  void* p = filled(rallocx(const_cast<char*>(zeros), n * 2, 0), n * 2);
  EXPECT(sallocx(p, 0) >= n * 2 && nallocx(n * 2, 0) >= n * 2);
  EXPECT(xallocx(p, n * 2, 0, 0) >= n * 2);
  std::free(std::realloc(p, n));
  std::size_t unit = 0, bytes = sizeof unit;  // of its own blocks, of which it has none
  EXPECT(mallctl("arenas.page", &unit, &bytes, nullptr, 0) == 0 && unit != 0);
}
#elif OTHER == 2
void use_own_names(std::size_t n) {
  void* p = filled(std::malloc(n), n);
  EXPECT(malloc_size(p) >= n && MallocExtension_GetAllocatedSize(p) >= n);
  EXPECT(MallocExtension_GetEstimatedAllocatedSize(n) >= n);
  MallocExtension_ReleaseFreeMemory();
  __libc_cfree(p);
  EXPECT(__posix_memalign(&p, 64, n) == 0);
  std::free(filled(p, n));
  tc_free(std::memset(tc_malloc(n), 1, n));
  tc_delete(std::memset(tc_new(n), 1, n));
}
#else
void use_own_names(std::size_t n) {
  void* p = filled(std::malloc(n), n);
  EXPECT(malloc_size(p) >= n && malloc_good_size(n) >= n);
  p = filled(reallocf(p, n * 3), n * 3);
  EXPECT(reallocarr(&p, n, 5) == 0);
  vfree(filled(p, n * 5));
  std::free(filled(_aligned_malloc(64, n * 64), n * 64));
  mi_free(std::memset(mi_malloc(n), 1, n));
  mi_free(std::memset(mi_new(n), 1, n));
}
#endif

void use_operators(std::size_t n) {
  ashlar_test::for_each_pair_of_forms([n](const auto& made_by, const auto& ended_by) {
    constexpr std::align_val_t wide{128};
    ended_by.unmake(filled(made_by.make(n, wide), n), n, wide);
  });
  std::free(filled(::operator new(n), n));
}

void use_c(std::size_t n) {
  void* p = nullptr;
  EXPECT(posix_memalign(&p, 64, n) == 0);
  std::free(filled(p, n));
  for (void* const each : {memalign(64, n), aligned_alloc(64, n * 64), valloc(n), pvalloc(n), std::calloc(n, 1),
                           static_cast<void*>(strdup("of the C library"))})
    std::free(std::realloc(each, n + 100));
  std::free(filled(reallocarray(nullptr, n, 3), n * 3));
  __libc_free(std::memset(__libc_malloc(n), 7, n));
#if OTHER != 1  // jemalloc leaves these names to the C library, which has a heap of its own
  std::free(std::realloc(__libc_malloc(n), n + 100));
  __libc_free(filled(std::malloc(n), n));
#endif
}

}  // namespace

int main() {
  for (std::size_t n = 1; n < 100'000; n = n * 5 / 4 + 1) {
    use_operators(n);
    use_c(n);
    use_own_names(n);
  }
  return 0;
}
