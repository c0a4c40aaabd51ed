/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names that few programs call: each serves, and the blocks are those of the heap of the process. */
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ashlar_malloc.h>

#include "expect.h"

/* Of glibc, of C23, and of jemalloc: no header of C99 has them. */
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t each);
void* __libc_realloc(void* p, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* __libc_valloc(size_t bytes);
void* __libc_pvalloc(size_t bytes);
void __libc_free(void* p);
struct mallinfo __libc_mallinfo(void);
int __libc_mallopt(int parameter, int value);
void cfree(void* p);
void free_sized(void* p, size_t bytes);
void free_aligned_sized(void* p, size_t alignment, size_t bytes);
void sdallocx(void* p, size_t bytes, int flags);
size_t nallocx(size_t bytes, int flags);

enum { page = 4096 };

static int is_ours(const void* p) { return p != NULL && ashlar_heap_of(p) == ashlar_heap_of_process(); }

static void* aligned(size_t alignment, size_t bytes) {
  void* const p = memalign(alignment, bytes);
  EXPECT(is_ours(p) && (uintptr_t)p % alignment == 0);
  return memset(p, 1, bytes);
}

static void test_names_of_glibc(void) {
  char* p = __libc_malloc(100);
  EXPECT(is_ours(p));
  memcpy(p, "contents", 9);
  p = __libc_realloc(p, 70000);
  EXPECT(is_ours(p) && strcmp(p, "contents") == 0 && malloc_usable_size(p) >= 70000);
  free(p);
  p = __libc_calloc(50, 20);
  EXPECT(is_ours(p) && p[0] == 0 && memcmp(p, p + 1, 999) == 0);
  __libc_free(p);
  p = __libc_memalign(1024, 100);
  EXPECT(is_ours(p) && (uintptr_t)p % 1024 == 0);
  __libc_free(p);
  p = __libc_valloc(100);
  EXPECT(is_ours(p) && (uintptr_t)p % page == 0);
  cfree(p);
  p = __libc_pvalloc(100);
  EXPECT(is_ours(p) && (uintptr_t)p % page == 0 && malloc_usable_size(p) >= page);
  cfree(p);
  __libc_free(NULL);
  cfree(NULL);
}

static void test_figures_of_glibc(void) {
  char retain[32];
  void* const p = malloc(3000000);
  const struct mallinfo info = __libc_mallinfo();
  EXPECT(info.uordblks + info.hblkhd >= 3000000);
  free(p);
  EXPECT(__libc_mallopt(M_TRIM_THRESHOLD, 5 << 20) == 1);
  EXPECT(ashlar_option_get("retain", retain, sizeof retain) == 0 && strcmp(retain, "5242880") == 0);
  EXPECT(__libc_mallopt(M_MXFAST, -1) == 0);
}

/* The sizes that the program states are right: at no level is this misuse. */
static void test_sized_frees(void) {
  size_t bytes;
  for (bytes = 1; bytes < 8 << 20; bytes = bytes * 3 + 1) {
    void* p = malloc(bytes);
    EXPECT(is_ours(p));
    free_sized(p, bytes);
    p = malloc(bytes);
    sdallocx(p, bytes, 0);
    p = malloc(bytes);
    sdallocx(p, malloc_usable_size(p), 0);
    sdallocx(malloc(bytes), nallocx(bytes, 0), 0);
    free_aligned_sized(aligned(64, bytes), 64, bytes);
    free_aligned_sized(aligned(page, bytes), page, bytes);
    sdallocx(aligned(page, bytes), bytes, 12); /* the logarithm */
  }
  free_sized(NULL, 0);
  free_sized(NULL, 100);
  free_aligned_sized(NULL, 64, 100);
}

static void test_trim(void) {
  enum { count = 32768, bytes = 1000 };
  static void* blocks[count];
  int i;
  EXPECT(ashlar_option_set("retain", "64m") == 0);
  for (i = 0; i < count; ++i) memset(blocks[i] = malloc(bytes), 1, bytes);
  for (i = 0; i < count; ++i) free(blocks[i]);
  EXPECT(ashlar_trim(0) > (size_t)16 << 20);
}

/* A thousand blocks of a size that the C library has none of. */
static void write_statistics(void) {
  static void* blocks[1000];
  int i;
  for (i = 0; i < 1000; ++i) blocks[i] = malloc(7000);
  malloc_stats();
  for (i = 0; i < 1000; ++i) free(blocks[i]);
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "statistics") == 0) return write_statistics(), 0;
  if (count > 1) return test_sized_frees(), 0;
  test_names_of_glibc();
  test_figures_of_glibc();
  test_sized_frees();
  test_trim();
  return 0;
}
