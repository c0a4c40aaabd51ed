/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The C interface from C99: every function of ashlar_malloc.h, and the names that few programs call, in a program without
 * the C++ library. A word is one of its parts: sized_frees, statistics, changes. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ashlar_malloc.h>

#include "expect.h"

/* Of the library, which C has no header for. */
void free_sized(void* p, size_t bytes);
void free_aligned_sized(void* p, size_t alignment, size_t bytes);
void sdallocx(void* p, size_t bytes, int flags);
size_t nallocx(size_t bytes, int flags);
size_t xallocx(void* p, size_t bytes, size_t extra, int flags);
void* rallocx(void* p, size_t bytes, int flags);
void* mallocx(size_t bytes, int flags);
void* aligned_alloc(size_t alignment, size_t bytes);
void* valloc(size_t bytes);
void* pvalloc(size_t bytes);
/* operator new, new[], delete, delete[] with an alignment. */
void* _ZnwmSt11align_val_t(size_t bytes, size_t alignment);
void* _ZnamSt11align_val_t(size_t bytes, size_t alignment);
void _ZdlPvmSt11align_val_t(void* p, size_t bytes, size_t alignment);
void _ZdaPvmSt11align_val_t(void* p, size_t bytes, size_t alignment);

static int is_zero(const void* p, size_t bytes) {
  const unsigned char* const at = p;
  size_t i;
  for (i = 0; i < bytes; ++i)
    if (at[i] != 0) return 0;
  return 1;
}

static void test_version(void) {
  EXPECT(ashlar_abi_version() == ASHLAR_MALLOC_ABI);
  EXPECT(strcmp(ashlar_level(), ASHLAR_TEST_LEVEL) == 0);
}

static void test_blocks(void) {
  size_t bytes;
  for (bytes = 0; bytes < 300000; bytes = bytes * 5 / 4 + 1) {
    char* const p = ashlar_malloc(bytes);
    char* const zeros = ashlar_zalloc(bytes);
    EXPECT(p != NULL && zeros != NULL && p != zeros);
    EXPECT((uintptr_t)p % 16 == 0 && ashlar_usable_size(p) >= bytes);
    EXPECT(ashlar_usable_size(p) >= ashlar_good_size(bytes) || bytes == 0);
    EXPECT(ashlar_good_size(bytes) >= bytes);
    EXPECT(is_zero(zeros, bytes));
    memset(p, 1, bytes);
    ashlar_free_sized(p, bytes, 16);
    free(zeros); /* of the same heap */
  }
  ashlar_free(malloc(10));
  ashlar_free(NULL);
  EXPECT(ashlar_usable_size(NULL) == 0);
  ashlar_thread_flush();
}

static void test_refusals(void) {
  void* const p = ashlar_malloc(100);
  errno = 0;
  EXPECT(ashlar_malloc((size_t)PTRDIFF_MAX + 1) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(ashlar_zalloc((size_t)-1) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(ashlar_aligned_malloc(10, 48) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(ashlar_realloc(p, (size_t)-1) == NULL && errno == ENOMEM);
  EXPECT(ashlar_good_size((size_t)-1) == 0);
  errno = 7;
  ashlar_free(p);
  EXPECT(errno == 7);
}

static void test_sizes(void) {
  size_t alignment;
  char* p = ashlar_realloc(NULL, 10);
  EXPECT(p != NULL);
  memcpy(p, "0123456789", 10);
  p = ashlar_realloc(p, 100000);
  EXPECT(p != NULL && memcmp(p, "0123456789", 10) == 0);
  EXPECT(ashlar_try_expand(p, 50000) == 1);
  EXPECT(ashlar_try_expand(p, 0) == 1 && ashlar_usable_size(p) >= 100000);
  EXPECT(ashlar_try_expand(p, (size_t)-1) == 0);
  p = ashlar_realloc(p, 0);
  EXPECT(p != NULL);
  ashlar_free(p);
  for (alignment = 1; alignment <= 8u << 20; alignment *= 2) {
    void* const at = ashlar_aligned_malloc(100, alignment);
    EXPECT(at != NULL && (uintptr_t)at % alignment == 0);
    ashlar_free_sized(at, 100, alignment < 16 ? 16 : alignment);
  }
}

/* nallocx has the logarithm of the alignment in its flags. */
static void test_real_sizes(void) {
  static const size_t sizes[] = {1, 100, 5000, 40000, 300000, 5000000};
  char* p;
  int shift;
  size_t i;
  for (shift = 0; shift <= 24; ++shift)
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
      const size_t said = nallocx(sizes[i], shift);
      p = ashlar_aligned_malloc(sizes[i], (size_t)1 << shift);
      EXPECT(p != NULL && said >= sizes[i] && said <= ashlar_usable_size(p));
      free(p);
    }
  p = rallocx(malloc(100), 5000, 0x40 | 12); /* with zeros, at 4096 */
  EXPECT(p != NULL && (uintptr_t)p % 4096 == 0 && is_zero(p + 4096, 900));
  EXPECT(xallocx(p, (size_t)1 << 40, 0, 0) < (size_t)1 << 40);
  free(p);
  EXPECT(nallocx(1, 62) == 0 && ashlar_aligned_malloc(1, (size_t)1 << 62) == NULL);
  EXPECT(nallocx(PTRDIFF_MAX, 0) <= PTRDIFF_MAX);
}

static void test_shrinking_in_place(void) {
  char* p = malloc(1000000);
  memset(p, 1, 1000000);
  EXPECT(xallocx(p, 100000, 0, 0) < 200000 && ashlar_usable_size(p) >= 100000 && p[99999] == 1);
  EXPECT(xallocx(p, 90000, 20000, 0) >= 90000);
  free(p);
  p = malloc(20 << 20);
  EXPECT(xallocx(p, 8 << 20, 0, 0) < 10 << 20 && ashlar_usable_size(p) >= 8 << 20);
  free(p);
}

struct visited {
  ashlar_heap* heap;
  size_t blocks;
  size_t bytes;
  const void* wanted;
  int is_found;
};

static void visit(void* p, size_t bytes, void* argument) {
  struct visited* const sum = argument;
  free(ashlar_heap_malloc(sum->heap, 100)); /* no lock is held */
  ++sum->blocks;
  sum->bytes += bytes;
  if (p == sum->wanted) sum->is_found = 1;
}

static void test_visit_of_process(void) {
  enum { count = 3000 };
  static void* blocks[count];
  struct visited sum = {NULL, 0, 0, NULL, 0};
  int i;
  for (i = 0; i < count; ++i) blocks[i] = malloc(48);
  sum.heap = ashlar_heap_of_process();
  sum.wanted = blocks[count - 1];
  ashlar_heap_visit(sum.heap, visit, &sum);
  EXPECT(sum.is_found && sum.blocks >= count);
  for (i = 0; i < count; ++i) free(blocks[i]);
}

static void test_heap(void) {
  ashlar_heap* const heap = ashlar_heap_new(NULL);
  struct visited sum = {NULL, 0, 0, NULL, 0};
  char* p = ashlar_heap_malloc(heap, 1000);
  char* const zeros = ashlar_heap_zalloc(heap, 5 << 20); /* with pages of its own */
  void* const at = ashlar_heap_aligned_malloc(heap, 100, 4096);
  EXPECT(heap != NULL && p != NULL && zeros != NULL && at != NULL);
  EXPECT(is_zero(zeros, 5 << 20) && (uintptr_t)at % 4096 == 0);
  EXPECT(ashlar_heap_of(p) == heap && ashlar_heap_of(zeros) == heap && ashlar_heap_of(at) == heap);
  EXPECT(ashlar_heap_of(heap) == ashlar_heap_of_process() && ashlar_heap_of(&sum) == NULL);
  EXPECT(ashlar_usable_size(zeros) >= 5 << 20 && ashlar_usable_size(p) >= 1000);
  strcpy(p, "kept");
  p = ashlar_heap_realloc(heap, p, 70000);
  EXPECT(p != NULL && strcmp(p, "kept") == 0 && ashlar_heap_of(p) == heap);
  p = realloc(p, 300000);
  EXPECT(p != NULL && strcmp(p, "kept") == 0 && ashlar_heap_of(p) == heap);
  sum.wanted = p;
  sum.heap = heap;
  ashlar_heap_visit(heap, visit, &sum);
  EXPECT(sum.is_found && sum.bytes >= 300000 + (5 << 20));
  test_visit_of_process();
  free(zeros);
  free(at);
  ashlar_heap_free(heap, p);
  ashlar_heap_free(heap, NULL);
  EXPECT(ashlar_heap_aligned_malloc(heap, 1, 3) == NULL && ashlar_heap_malloc(heap, (size_t)-1) == NULL);
  EXPECT(ashlar_heap_malloc(heap, 1) != NULL);
  ashlar_heap_release(heap);
  p = ashlar_heap_malloc(heap, 1);
  EXPECT(p != NULL);
  ashlar_heap_delete(heap);
  EXPECT(ashlar_heap_of(p) == NULL);
  ashlar_heap_delete(NULL);
}

static void test_aligned_blocks_of(ashlar_heap* heap) {
  size_t bytes, alignment;
  for (bytes = 1; bytes < 6 << 20; bytes = bytes * 7 + 1)
    for (alignment = 1; alignment <= 1 << 20; alignment *= 8) {
      char* p = ashlar_heap_malloc(heap, bytes);
      memset(p, 7, bytes);
      ashlar_heap_free(heap, p); /* what comes next is not fresh */
      p = ashlar_heap_aligned_zalloc(heap, bytes, alignment);
      EXPECT(p != NULL && (uintptr_t)p % alignment == 0 && is_zero(p, bytes));
      p[0] = 'k';
      p = ashlar_heap_aligned_realloc(heap, p, 2 * bytes, 8 * alignment);
      EXPECT(p != NULL && (uintptr_t)p % (8 * alignment) == 0 && p[0] == 'k' && is_zero(p + 1, bytes - 1));
      p = ashlar_heap_aligned_realloc(heap, p, bytes / 2 + 1, 16 * alignment);
      EXPECT(p != NULL && (uintptr_t)p % (16 * alignment) == 0 && p[0] == 'k');
      EXPECT(ashlar_heap_of(p) == heap);
      ashlar_heap_free(heap, p);
    }
}

static void test_aligned_blocks(void) {
  ashlar_heap_options options = {sizeof options, 16u << 20, 1u << 20, 10};
  ashlar_heap* const heap = ashlar_heap_new(&options);
  void* const p = ashlar_heap_aligned_realloc(heap, NULL, 100, 256);
  test_aligned_blocks_of(heap);
  test_aligned_blocks_of(ashlar_heap_of_process());
  EXPECT(p != NULL && (uintptr_t)p % 256 == 0);
  errno = 0;
  EXPECT(ashlar_heap_aligned_realloc(heap, p, 100, 48) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(ashlar_heap_aligned_zalloc(heap, 100, 0) == NULL && errno == EINVAL);
  errno = 0;
  EXPECT(ashlar_heap_aligned_realloc(heap, p, 100u << 20, 64) == NULL && errno == ENOMEM);
  errno = 0;
  EXPECT(ashlar_heap_aligned_realloc(heap, p, (size_t)-1, 64) == NULL && errno == ENOMEM);
  EXPECT(ashlar_usable_size(p) >= 100); /* is as it was */
  ashlar_heap_delete(heap);
}

/* As the headers of Lua, Zstandard and zlib declare them. */
static void* (*const lua)(void* user, void* p, size_t old_bytes, size_t bytes) = ashlar_heap_lua_alloc;
static void* (*const opaque_malloc)(void* user, size_t bytes) = ashlar_heap_opaque_malloc;
static void (*const opaque_free)(void* user, void* p) = ashlar_heap_opaque_free;
static void* (*const zlib)(void* user, unsigned count, unsigned bytes) = ashlar_heap_zlib_alloc;

static void test_user_data(void) {
  ashlar_heap_options options = {sizeof options, 16u << 20, 1u << 20, 10};
  ashlar_heap* const heap = ashlar_heap_new(&options);
  void *p = lua(heap, NULL, 5 /* LUA_TTABLE */, 56), *all = NULL, *more;
  EXPECT(p != NULL && ashlar_heap_of(p) == heap);
  memcpy(p, "table", 6);
  p = lua(heap, p, 56, 1 << 20);
  EXPECT(p != NULL && strcmp(p, "table") == 0);
  while ((more = opaque_malloc(heap, 1000)) != NULL) all = more;
  EXPECT(all != NULL && lua(heap, p, 1 << 20, 2 << 20) == NULL);
  p = lua(heap, p, 1 << 20, 30); /* to less, where there is no more */
  EXPECT(p != NULL && strcmp(p, "table") == 0);
  EXPECT(lua(heap, p, 30, 0) == NULL && lua(heap, NULL, 0, 0) == NULL);
  opaque_free(heap, all);
  opaque_free(heap, NULL);
  p = zlib(heap, 10, 20);
  EXPECT(p != NULL && ashlar_usable_size(p) >= 200 && zlib(heap, ~0u, ~0u) == NULL);
  opaque_free(heap, p);
  ashlar_heap_delete(heap);
}

static void test_trim(void) {
  ashlar_heap* const heap = ashlar_heap_new(NULL);
  void* const p = ashlar_heap_malloc(heap, 1 << 20);
  memset(p, 1, 1 << 20);
  ashlar_heap_free(heap, p); /* retained */
  EXPECT(ashlar_heap_trim(heap) >= 1 << 20);
  EXPECT(ashlar_heap_trim(heap) == 0);
  ashlar_heap_delete(heap);
  free(malloc(1 << 20));
  EXPECT(ashlar_heap_trim(ashlar_heap_of_process()) >= 1 << 20);
}

static void test_limit(void) {
  ashlar_heap_options options = {sizeof options, 16u << 20, 1u << 20, 10};
  ashlar_heap* const heap = ashlar_heap_new(&options);
  int count = 0;
  EXPECT(heap != NULL);
  errno = 0;
  while (count < 100 && ashlar_heap_malloc(heap, 1 << 20) != NULL) ++count;
  EXPECT(count > 4 && count < 17 && errno == ENOMEM);
  ashlar_heap_delete(heap);
  options.struct_bytes = 3;
  errno = 0;
  EXPECT(ashlar_heap_new(&options) == NULL && errno == EINVAL);
}

static void test_default_heap(void) {
  ashlar_heap* const heap = ashlar_heap_new(NULL);
  ashlar_heap* const process = ashlar_heap_of_process();
  void *p, *q;
  void* const before = malloc(10);
  EXPECT(ashlar_heap_of(before) == process);
  EXPECT(ashlar_heap_set_default_for_thread(heap) == process);
  p = malloc(10);
  q = calloc(3, 4);
  EXPECT(ashlar_heap_of(p) == heap && ashlar_heap_of(q) == heap && is_zero(q, 12));
  free(before);
  free(q);
  EXPECT(ashlar_heap_of(ashlar_heap_malloc(process, 20)) == process);
  EXPECT(ashlar_heap_set_default_for_thread(process) == heap);
  q = malloc(10);
  EXPECT(ashlar_heap_of(q) == process);
  free(q);
  free(p);
  EXPECT(ashlar_heap_set_default_for_thread(heap) == process);
  ashlar_heap_delete(heap);
  p = malloc(1);
  EXPECT(ashlar_heap_of(p) == process);
  free(p);
}

static void count_text(const char* text, size_t bytes, void* argument) {
  char* const all = argument;
  free(malloc(100)); /* allowed here */
  strncat(all, text, bytes);
}

static void test_statistics(void) {
  static char json[1 << 16];
  ashlar_heap* const heap = ashlar_heap_new(NULL);
  ashlar_statistics now = {0};
  EXPECT(ashlar_heap_statistics(heap, &now) == EINVAL);
  now.struct_bytes = sizeof now;
  EXPECT(ashlar_heap_malloc(heap, 1000) != NULL && ashlar_heap_malloc(heap, 9 << 20) != NULL);
  EXPECT(ashlar_heap_statistics(heap, &now) == 0);
  EXPECT(now.live_blocks >= 2 && now.huge_blocks == 1 && now.huge_bytes >= 9 << 20);
  EXPECT(now.held_bytes ==
         now.live_bytes + now.spare_bytes + now.waste_bytes + now.free_bytes + now.fresh_bytes + now.head_bytes);
  ashlar_heap_statistics_json(heap, count_text, json);
  EXPECT(json[0] == '{' && strstr(json, "\"held_bytes\":") != NULL && json[strlen(json) - 1] == '}');
  ashlar_heap_delete(heap);
  EXPECT(ashlar_heap_statistics(ashlar_heap_of_process(), &now) == 0 && now.live_blocks > 0);
  ashlar_trim(0);
}

static void test_options(void) {
  static const char* const names[] = {"retain", "decay", "max",    "huge_pages", "populate", "stats",
                                      "abort",  "zero",  "sample", "profile_interval", "profile_signal"};
  char text[32];
  size_t i;
  EXPECT(ashlar_option_set("retain", "3m") == 0);
  EXPECT(ashlar_option_get("retain", text, sizeof text) == 0 && strcmp(text, "3145728") == 0);
  EXPECT(ashlar_option_get("retain", text, 3) == ERANGE);
  EXPECT(ashlar_option_set("samples", "1") == ENOENT && ashlar_option_get("samples", text, sizeof text) == ENOENT);
  EXPECT(ashlar_option_set("decay", "soon") == EINVAL);
  EXPECT(ashlar_option_set("decay", "20") == 0);
  for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
    EXPECT(ashlar_option_get(names[i], text, sizeof text) == 0);
    EXPECT(ashlar_option_set(names[i], text) == 0);
  }
}

static void test_cleared_blocks(void) {
  size_t bytes;
  EXPECT(ashlar_option_set("zero", "1") == 0);
  for (bytes = 1; bytes < 200000; bytes *= 3) {
    int round;
    for (round = 0; round < 10; ++round) {
      char* p = malloc(bytes);
      EXPECT(p != NULL && is_zero(p, bytes));
      memset(p, 0xff, bytes);
      p = realloc(p, bytes * 2);
      EXPECT(p != NULL && is_zero(p + bytes, bytes));
      p = realloc(p, bytes * 4 / 3);
      p = realloc(p, bytes * 2);
      EXPECT(p != NULL && is_zero(p + bytes * 4 / 3, bytes * 2 - bytes * 4 / 3));
      memset(p, 0xff, bytes * 2);
      free(p);
    }
  }
  EXPECT(ashlar_option_set("zero", "0") == 0);
}

static void test_cleared_blocks_of(ashlar_heap* heap) {
  size_t bytes;
  for (bytes = 100; bytes < 6 << 20; bytes *= 4) {
    int round;
    for (round = 0; round < 10; ++round) {
      char* p = ashlar_heap_malloc(heap, bytes);
      EXPECT(p != NULL && is_zero(p, bytes));
      memset(p, 0xff, bytes);
      p = ashlar_heap_realloc(heap, p, bytes * 2);
      EXPECT(p != NULL && is_zero(p + bytes, bytes));
      memset(p, 0xff, bytes * 2);
      ashlar_heap_free(heap, p);
      p = ashlar_heap_aligned_malloc(heap, bytes, 64);
      EXPECT(p != NULL && is_zero(p, bytes));
      memset(p, 0xff, bytes);
      ashlar_heap_free(heap, p);
    }
  }
}

/* Into slices that were in use before. */
static void test_cleared_expansion(void) {
  enum { count = 40, bytes = 200000, more = 300000 };
  char* blocks[count];
  int i, expanded = 0;
  for (i = 0; i < count; ++i) memset(blocks[i] = malloc(bytes), 0xff, bytes);
  for (i = 1; i < count; i += 2) free(blocks[i]);
  for (i = 0; i < count; i += 2) {
    if (ashlar_try_expand(blocks[i], more)) {
      ++expanded;
      EXPECT(is_zero(blocks[i] + bytes, more - bytes));
    }
    free(blocks[i]);
  }
  EXPECT(expanded > 0);
}

static void test_zero(void) {
  ashlar_heap* const heap = ashlar_heap_new(NULL);
  test_cleared_blocks();
  EXPECT(ashlar_option_set("zero", "1") == 0);
  test_cleared_blocks_of(heap);
  test_cleared_blocks_of(ashlar_heap_of_process());
  test_cleared_expansion();
  EXPECT(ashlar_option_set("zero", "0") == 0);
  ashlar_heap_delete(heap);
}

static void test_max(void) {
  void* p;
  EXPECT(ashlar_option_set("max", "64m") == 0);
  errno = 0;
  EXPECT(malloc(100u << 20) == NULL && errno == ENOMEM);
  p = malloc(1 << 20);
  EXPECT(p != NULL);
  free(p);
  EXPECT(ashlar_option_set("max", "1t") == 0);
  p = malloc(100u << 20);
  EXPECT(p != NULL);
  free(p);
}

enum { page = 4096 };

static int is_ours(const void* p) { return p != NULL && ashlar_heap_of(p) == ashlar_heap_of_process(); }

/* ---- All that hands out a block, and all that frees one with its size. The sizes are right: at no level is this
 * misuse. */
static ashlar_heap* own_heap;

static void* by_malloc(size_t bytes, size_t alignment) { return alignment <= 16 ? malloc(bytes) : NULL; }
static void* by_calloc(size_t bytes, size_t alignment) { return alignment <= 16 ? calloc(1, bytes) : NULL; }
static void* by_zalloc(size_t bytes, size_t alignment) { return alignment <= 16 ? ashlar_zalloc(bytes) : NULL; }
static void* by_memalign(size_t bytes, size_t alignment) { return memalign(alignment, bytes); }
static void* by_aligned_alloc(size_t bytes, size_t alignment) { return aligned_alloc(alignment, bytes); }
static void* by_posix_memalign(size_t bytes, size_t alignment) {
  void* p = NULL;
  return posix_memalign(&p, alignment, bytes) == 0 ? p : NULL;
}
static void* by_valloc(size_t bytes, size_t alignment) { return alignment == page ? valloc(bytes) : NULL; }
static void* by_pvalloc(size_t bytes, size_t alignment) {
  return alignment == page && bytes % page == 0 ? pvalloc(bytes) : NULL; /* of whole pages */
}
static int logarithm_of(size_t alignment) { return alignment > 1 ? 1 + logarithm_of(alignment / 2) : 0; }
static void* by_mallocx(size_t bytes, size_t alignment) { return mallocx(bytes, logarithm_of(alignment)); }
static void* by_rallocx(size_t bytes, size_t alignment) { return rallocx(malloc(40), bytes, logarithm_of(alignment)); }
static void* by_growth(size_t bytes, size_t alignment) {
  return alignment <= 16 ? realloc(malloc(bytes / 3 + 1), bytes) : NULL;
}
static void* by_shrinking(size_t bytes, size_t alignment) {
  return alignment <= 16 ? ashlar_realloc(ashlar_malloc(bytes * 5 / 4), bytes) : NULL;
}
static void* of_heap(size_t bytes, size_t alignment) { return ashlar_heap_aligned_malloc(own_heap, bytes, alignment); }
static void* of_heap_zeroed(size_t bytes, size_t alignment) {
  return ashlar_heap_aligned_zalloc(own_heap, bytes, alignment);
}
static void* of_heap_grown(size_t bytes, size_t alignment) {
  return ashlar_heap_aligned_realloc(own_heap, ashlar_heap_malloc(own_heap, bytes / 3 + 1), bytes, alignment);
}
static void* of_heap_shrunk(size_t bytes, size_t alignment) {
  return ashlar_heap_aligned_realloc(own_heap, ashlar_heap_malloc(own_heap, bytes * 5 / 4), bytes, alignment);
}
static void* of_heap_aligned_later(size_t bytes, size_t alignment) {
  return ashlar_heap_aligned_realloc(own_heap, ashlar_heap_malloc(own_heap, bytes), bytes, alignment);
}
static void* of_process_aligned_later(size_t bytes, size_t alignment) {
  return ashlar_heap_aligned_realloc(ashlar_heap_of_process(), malloc(bytes), bytes, alignment);
}

static void* (*const allocations[])(size_t bytes, size_t alignment) = {by_malloc,
                                                                       by_calloc,
                                                                       by_zalloc,
                                                                       by_memalign,
                                                                       by_aligned_alloc,
                                                                       by_posix_memalign,
                                                                       by_valloc,
                                                                       by_pvalloc,
                                                                       by_mallocx,
                                                                       by_rallocx,
                                                                       by_growth,
                                                                       by_shrinking,
                                                                       _ZnwmSt11align_val_t,
                                                                       _ZnamSt11align_val_t,
                                                                       ashlar_aligned_malloc,
                                                                       of_heap,
                                                                       of_heap_zeroed,
                                                                       of_heap_grown,
                                                                       of_heap_shrunk,
                                                                       of_heap_aligned_later,
                                                                       of_process_aligned_later};

static void by_free_aligned_sized(void* p, size_t bytes, size_t alignment) { free_aligned_sized(p, alignment, bytes); }
static void by_free_sized(void* p, size_t bytes, size_t alignment) {
  alignment <= 16 ? free_sized(p, bytes) : free_aligned_sized(p, alignment, bytes);
}
static void by_sdallocx(void* p, size_t bytes, size_t alignment) { sdallocx(p, bytes, logarithm_of(alignment)); }

static void (*const frees[])(void* p, size_t bytes, size_t alignment) = {
    by_free_aligned_sized, by_free_sized,          by_sdallocx,
    ashlar_free_sized,     _ZdlPvmSt11align_val_t, _ZdaPvmSt11align_val_t};

static void test_sized_frees(void) {
  static const size_t alignments[] = {8, 16, 64, 256, page, 65536, 8 << 20};
  enum { ways = sizeof allocations / sizeof allocations[0], forms = sizeof frees / sizeof frees[0] };
  size_t way, form, i, bytes;
  own_heap = ashlar_heap_new(NULL);
  for (way = 0; way < ways; ++way)
    for (i = 0; i < sizeof alignments / sizeof alignments[0]; ++i)
      for (bytes = 1; bytes < 8 << 20; bytes = bytes == 100 ? page : bytes * 3 + (bytes < 100))
        for (form = 0; form < forms; ++form) {
          char* const p = allocations[way](bytes, alignments[i]);
          if (p == NULL) continue; /* it has no such alignment */
          EXPECT((uintptr_t)p % alignments[i] == 0);
          p[0] = p[bytes - 1] = 1;
          frees[form](p, bytes, alignments[i]);
        }
  ashlar_heap_delete(own_heap);
  for (bytes = 1; bytes < 8 << 20; bytes = bytes * 3 + 1) {
    void* const p = malloc(bytes);
    sdallocx(p, malloc_usable_size(p), 0);
    sdallocx(malloc(bytes), nallocx(bytes, 0), 0);
  }
  free_sized(NULL, 0);
  free_sized(NULL, 100);
  free_aligned_sized(NULL, 64, 100);
}

static void test_trim_of_process(void) {
  enum { count = 32768, bytes = 1000 };
  static void* blocks[count];
  int i;
  EXPECT(ashlar_option_set("retain", "64m") == 0);
  for (i = 0; i < count; ++i) memset(blocks[i] = malloc(bytes), 1, bytes);
  for (i = 0; i < count; ++i) free(blocks[i]);
  EXPECT(ashlar_trim(0) > (size_t)16 << 20);
}

#if defined(__GLIBC__) /* whose names and functions other C libraries lack */
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

/* A thousand blocks of a size that the C library has none of. */
static void write_statistics(void) {
  static void* blocks[1000];
  int i;
  for (i = 0; i < 1000; ++i) blocks[i] = malloc(7000);
  malloc_stats();
  for (i = 0; i < 1000; ++i) free(blocks[i]);
}

/* ---- Options that threads change while others allocate, and handlers of signals that come and go with them. */
enum { rounds = 20000 };

/* No other thread changes this option: so it stays as it was set. */
static void* change(void* name) {
  int i;
  for (i = 1; i <= rounds; ++i) {
    char value[16], now[32];
    snprintf(value, sizeof value, "%d", i % 100);
    EXPECT(ashlar_option_set(name, value) == 0);
    EXPECT(ashlar_option_get(name, now, sizeof now) == 0 && strcmp(now, value) == 0);
  }
  return NULL;
}

static void* allocate(void* unused) {
  int i;
  for (i = 0; i < rounds; ++i) free(malloc((size_t)i * 5));
  return unused;
}

static void change_by_threads(void) {
  static char retain[] = "retain", decay[] = "decay";
  pthread_t threads[3];
  int i;
  EXPECT(pthread_create(&threads[0], NULL, change, retain) == 0);
  EXPECT(pthread_create(&threads[1], NULL, change, decay) == 0);
  EXPECT(pthread_create(&threads[2], NULL, allocate, NULL) == 0);
  for (i = 0; i < 3; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
}

static volatile sig_atomic_t handled;
static void handle(int signal) { handled += signal == SIGUSR2; }

/* With profile_signal=12: a handler that the program has installed since is its own, whatever options change. */
static void keep_handlers(void) {
  struct sigaction mine, found;
  memset(&mine, 0, sizeof mine);
  mine.sa_handler = handle;
  EXPECT(sigaction(SIGUSR2, &mine, &found) == 0 && found.sa_handler != SIG_DFL);
  EXPECT(mallopt(M_TRIM_THRESHOLD, 1 << 20) == 1);
  raise(SIGUSR2);
  EXPECT(ashlar_option_set("profile_signal", "0") == 0);
  raise(SIGUSR2);
  EXPECT(handled == 2);
}

static void take_another_signal(void) {
  struct sigaction found;
  EXPECT(ashlar_option_set("profile_signal", "10") == 0);
  EXPECT(sigaction(SIGUSR1, NULL, &found) == 0 && found.sa_handler != SIG_DFL);
  EXPECT(ashlar_option_set("stats", "none") == 0);
  EXPECT(sigaction(SIGUSR1, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
}

/* As in glibc, a threshold below 0 is none: nothing goes back. */
static void never_trim(void) {
  char now[32], most[32];
  snprintf(most, sizeof most, "%zu", (size_t)-1);
  EXPECT(mallopt(M_TRIM_THRESHOLD, -1) == 1);
  EXPECT(ashlar_option_get("retain", now, sizeof now) == 0 && strcmp(now, most) == 0);
}

#endif

static void* volatile kept; /* so that the statistics at exit tell of a block */

int main(int count, char** words) {
  const char* const word = count > 1 ? words[1] : "";
  kept = malloc(100);
  if (strcmp(word, "sized_frees") == 0) return test_sized_frees(), 0;
#if defined(__GLIBC__)
  if (strcmp(word, "statistics") == 0) return write_statistics(), 0;
  if (strcmp(word, "changes") == 0) return change_by_threads(), keep_handlers(), take_another_signal(), never_trim(), 0;
  test_names_of_glibc();
  test_figures_of_glibc();
#endif
  test_version();
  test_blocks();
  test_refusals();
  test_sizes();
  test_real_sizes();
  test_sized_frees();
  test_shrinking_in_place();
  test_heap();
  test_aligned_blocks();
  test_user_data();
  test_trim();
  test_trim_of_process();
  test_limit();
  test_default_heap();
  test_statistics();
  test_options();
  test_zero();
  test_max();
  return 0;
}
