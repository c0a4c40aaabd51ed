/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The C interface of libashlar: blocks, heaps as objects, statistics, options, a handler of misuse. ABI version 1.
 *
 * malloc, free and their relatives of <stdlib.h> work on the same blocks: a block of ashlar_malloc may go to free, and
 * one of malloc to ashlar_free. All sizes are in bytes. All functions may be called by any thread at any time, unless
 * "Threads" states otherwise, also before main and after exit has begun. None throws, and none changes errno but as
 * stated. A later version of the library adds functions and keeps those that are here; a struct that may grow begins
 * with `struct_bytes`, which the caller sets to its own size. */
#ifndef ASHLAR_MALLOC_H
#define ASHLAR_MALLOC_H

#include <stddef.h>
#include <stdint.h>

#define ASHLAR_MALLOC_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* Returns: the ABI version of the library that is loaded, at least ASHLAR_MALLOC_ABI. */
int ashlar_abi_version(void);

/* Returns: the amount of misuse that the library detects: "fast", "checked" or "hardened". */
const char* ashlar_level(void);

/* ---- Blocks of the process ------------------------------------------------------------------------------------- */

/* Returns: a block of at least `bytes` bytes, aligned to 16; for 0 bytes one with an address of its own. NULL with errno
 * ENOMEM if there is no memory, the limit `max` is reached, or `bytes` exceeds 256 TiB, all that a program can have. */
void* ashlar_malloc(size_t bytes);

/* As ashlar_malloc; the first `bytes` bytes are zero. */
void* ashlar_zalloc(size_t bytes);

/* As ashlar_malloc; the address is a multiple of `alignment`. NULL with errno EINVAL unless that is a power of two. */
void* ashlar_aligned_malloc(size_t bytes, size_t alignment);

/* Returns: a block of `bytes` bytes with the contents of `p`, up to the smaller size; often `p` itself. NULL with errno
 * ENOMEM as ashlar_malloc: `p` is unchanged then. NULL for `p` is an empty block. Unlike realloc, 0 bytes are a size as
 * any other. Expects: `p` is NULL or a live block. */
void* ashlar_realloc(void* p, size_t bytes);

/* Effects: frees a block of any heap; nothing for NULL. errno is kept. Expects: the block is live. */
void ashlar_free(void* p);

/* As ashlar_free. From level checked on another size or alignment than that of the request is misuse. `alignment` is 16
 * for a block that was allocated without one. A resize to less that stayed for lack of memory leaves the former size:
 * the program that goes on then uses ashlar_free. */
void ashlar_free_sized(void* p, size_t bytes, size_t alignment);

/* Returns: the bytes of the block that the caller may use, at least those requested; 0 for NULL. Expects: the block is
 * live. */
size_t ashlar_usable_size(const void* p);

/* Returns: the usable bytes of a block of `bytes` bytes: a container that grows to this size wastes nothing. 0 for a
 * size that is refused; a size of 0 counts as 1. A sampled block (options sample, and stats=profile) has the bytes of
 * its request. */
size_t ashlar_good_size(size_t bytes);

/* Returns: 1 if the block has at least `bytes` usable bytes now, at the same address, else 0; then it is unchanged.
 * Expects: the block is live. */
int ashlar_try_expand(void* p, size_t bytes);

/* Effects: sends the frees of other threads' blocks that the calling thread has gathered, so that their memory serves
 * those threads. Useful before a thread sleeps for long. */
void ashlar_thread_flush(void);

/* Effects: gives free memory of the heap of the process to the system; the calling thread retains at most
 * `retain_bytes`. Free blocks in the caches of other threads stay. Returns: bytes given back. */
size_t ashlar_trim(size_t retain_bytes);

/* ---- Heaps as objects ------------------------------------------------------------------------------------------ */

/* A heap of its own: its blocks end together, by one call, and its limit counts them alone. All threads share it under
 * one lock; the heap of the process is the one that scales. */
typedef struct ashlar_heap ashlar_heap;

/* Limits of a heap, of all threads together. A member that is 0 stands for the default. */
typedef struct ashlar_heap_options {
  size_t struct_bytes; /* sizeof(ashlar_heap_options) */
  size_t max_bytes;    /* held from the system at once; a request beyond is refused. Default: no limit */
  size_t retain_bytes; /* free memory that stays for reuse. Default: 8 MiB */
  uint32_t decay_ms;   /* milliseconds until other free memory goes back. Default: 500 */
} ashlar_heap_options;

/* Returns: the heap of malloc, for the functions below. It cannot be released or deleted. */
ashlar_heap* ashlar_heap_of_process(void);

/* Returns: a new heap; NULL with errno ENOMEM, or EINVAL if `options->struct_bytes` is of no known version. NULL for
 * `options` stands for the defaults. */
ashlar_heap* ashlar_heap_new(const ashlar_heap_options* options);

/* Effects: frees all blocks of the heap, and gives their memory to the system.
 * Expects: no thread uses the heap or its blocks meanwhile. Complexity: O(memory held), not O(blocks). */
void ashlar_heap_release(ashlar_heap* heap);

/* Effects: gives all free memory of the heap to the system; of the heap of the process as ashlar_trim(0).
 * Returns: bytes given back. Complexity: O(free memory). */
size_t ashlar_heap_trim(ashlar_heap* heap);

/* Effects: as ashlar_heap_release, and the heap ends. NULL: nothing.
 * Expects: as ashlar_heap_release; the heap is no thread's default, but that of the calling thread, which then has the
 * heap of the process again. What the C library keeps, such as the buffer of a stream, lies in the heap if the thread made
 * it while the heap was its default, and ends with it. */
void ashlar_heap_delete(ashlar_heap* heap);

/* Returns: as ashlar_malloc, ashlar_zalloc, ashlar_aligned_malloc, but a block of the heap; the last one as both. */
void* ashlar_heap_malloc(ashlar_heap* heap, size_t bytes);
void* ashlar_heap_zalloc(ashlar_heap* heap, size_t bytes);
void* ashlar_heap_aligned_malloc(ashlar_heap* heap, size_t bytes, size_t alignment);
void* ashlar_heap_aligned_zalloc(ashlar_heap* heap, size_t bytes, size_t alignment);

/* Returns: as ashlar_realloc, in the heap; of aligned_realloc the address is a multiple of `alignment`, whatever `p` had.
 * NULL with errno EINVAL unless that is a power of two. Expects: `p` is NULL or a live block of the heap. */
void* ashlar_heap_realloc(ashlar_heap* heap, void* p, size_t bytes);
void* ashlar_heap_aligned_realloc(ashlar_heap* heap, void* p, size_t bytes, size_t alignment);

/* As ashlar_free, without a search for the heap. Expects: `p` is NULL or a live block of the heap. */
void ashlar_heap_free(ashlar_heap* heap, void* p);

/* Returns: the heap with the address in its memory for blocks, live or free; NULL for addresses of none. `p` is not
 * read. Complexity: O(heaps and their threads), a lock for each. */
ashlar_heap* ashlar_heap_of(const void* p);

/* Effects: calls `visit(p, bytes, argument)` for each live block of the heap, with its usable bytes. At level fast
 * blocks in the caches of other threads count as live. `visit` may allocate and free: the blocks are collected before its
 * first call, 16 bytes for each, in pages of their own. errno is ENOMEM if there is no memory for them; then there is no
 * call. Complexity: O(slabs and blocks). */
void ashlar_heap_visit(ashlar_heap* heap, void (*visit)(void* p, size_t bytes, void* argument), void* argument);

/* Effects: malloc, operator new and ashlar_malloc of the calling thread take blocks of `heap` from now on. Blocks of any
 * heap may be freed by free at any time. The first call in a process makes all mallocs and frees of it somewhat slower.
 * Returns: the former default of the thread. Threads: of the calling thread alone. */
ashlar_heap* ashlar_heap_set_default_for_thread(ashlar_heap* heap);

/* ---- Heaps for other libraries --------------------------------------------------------------------------------- */

/* Functions of the types that C libraries call for their memory, with a heap as the user data. The heap of the process is
 * ashlar_heap_of_process(), not NULL. */

/* Returns: `user` as the heap that it is. */
static inline ashlar_heap* ashlar_heap_of_user_data(void* user) {
#ifdef __cplusplus
  return static_cast<ashlar_heap*>(user);
#else
  return user;
#endif
}

/* A lua_Alloc of Lua: 0 bytes free the block, and a smaller size never fails.
 *
 *     lua_State* state = lua_newstate(ashlar_heap_lua_alloc, heap); */
static inline void* ashlar_heap_lua_alloc(void* heap, void* p, size_t old_bytes, size_t bytes) {
  (void)old_bytes; /* of a new block the kind of its object */
  if (bytes != 0) return ashlar_heap_realloc(ashlar_heap_of_user_data(heap), p, bytes);
  ashlar_heap_free(ashlar_heap_of_user_data(heap), p);
  return NULL;
}

/* As ashlar_heap_malloc and ashlar_heap_free, for Zstandard, Brotli, and whatever passes its user data first:
 *
 *     ZSTD_customMem memory = {ashlar_heap_opaque_malloc, ashlar_heap_opaque_free, heap}; */
static inline void* ashlar_heap_opaque_malloc(void* heap, size_t bytes) {
  return ashlar_heap_malloc(ashlar_heap_of_user_data(heap), bytes);
}
static inline void ashlar_heap_opaque_free(void* heap, void* p) { ashlar_heap_free(ashlar_heap_of_user_data(heap), p); }

/* A zalloc of zlib, with ashlar_heap_opaque_free as its zfree:
 *
 *     z_stream stream = {.zalloc = ashlar_heap_zlib_alloc, .zfree = ashlar_heap_opaque_free, .opaque = heap}; */
static inline void* ashlar_heap_zlib_alloc(void* heap, unsigned count, unsigned bytes) {
  const size_t size = count; /* of 64 bits, which hold the product */
  return ashlar_heap_malloc(ashlar_heap_of_user_data(heap), size * bytes);
}

/* ---- Statistics ------------------------------------------------------------------------------------------------ */

/* The contents of a heap. held_bytes = live + spare + waste + free + fresh + head bytes. */
typedef struct ashlar_statistics {
  size_t struct_bytes;          /* sizeof(ashlar_statistics) */
  size_t live_blocks;           /* allocated by callers */
  size_t live_bytes;            /* of these, rounded up to cells and spans */
  size_t spare_blocks;          /* free blocks in slabs and caches, retained spans and huge blocks */
  size_t spare_bytes;           /* of these */
  size_t waste_bytes;           /* of slabs, outside of cells */
  size_t huge_blocks;           /* live blocks with pages of their own; in live_blocks too */
  size_t huge_bytes;            /* of these; in live_bytes too */
  size_t held_bytes;            /* from the system, resident or not */
  size_t free_bytes;            /* of these: free, and in use before */
  size_t fresh_bytes;           /* of these: never in use, or purged: not resident */
  size_t head_bytes;            /* of these: the headers of segments */
  size_t table_bytes;           /* from the system, for tables; not in held_bytes */
  size_t cached_bytes;          /* of live_bytes, about: in the caches of other running threads; 0 above level fast */
  size_t segments;              /* of 4 MiB */
  uint64_t page_faults_avoided; /* pages that were reused without a return to the system in between */
} ashlar_statistics;

/* Effects: fills in the first `statistics->struct_bytes` bytes. While other threads allocate, the figures describe no
 * single moment. Returns: 0, or EINVAL if `struct_bytes` is of no known version. Complexity: O(slices and cached
 * blocks). */
int ashlar_heap_statistics(ashlar_heap* heap, ashlar_statistics* statistics);

/* Effects: writes the statistics, with those of each size class, as one JSON object, by calls of `write(text, bytes,
 * argument)`, which may allocate and free. Nothing is allocated here. Complexity: as ashlar_heap_statistics. */
void ashlar_heap_statistics_json(ashlar_heap* heap, void (*write)(const char* text, size_t bytes, void* argument),
                                 void* argument);

/* ---- Options and misuse ---------------------------------------------------------------------------------------- */

/* Effects: sets an option of the process, as the variable ASHLAR does: ("retain", "64m"). Calls in other threads see it
 * soon. Each set of values that is new to the process keeps about 350 bytes for ever.
 * Returns: 0; ENOENT for an unknown name, EINVAL for a value that it does not have, ENOMEM without memory. */
int ashlar_option_set(const char* name, const char* value);

/* Effects: writes the value of an option as text, as ashlar_option_set reads it; sizes are in bytes.
 * "stats" has several: its text is that which writes most, of profile:FILE, classes, exit, max and none.
 * Returns: 0; ENOENT for an unknown name, ERANGE if `bytes` bytes are too few. */
int ashlar_option_get(const char* name, char* text, size_t bytes);

/* One detected misuse. Members without a meaning for the kind are 0. */
typedef struct ashlar_misuse {
  const char* kind;    /* "double_free", "invalid_free", "misaligned_free", "size_mismatch", "overflow", ... */
  const char* what;    /* the mistake, in a few words */
  const void* pointer; /* the block */
  size_t size;         /* of the block, rounded up to its cell below level hardened; 0 if the check does not know it */
  size_t expected;     /* as the block was allocated; 0 if that is not kept */
  size_t got;          /* as the caller gave it */
} ashlar_misuse;

typedef void (*ashlar_misuse_handler)(const ashlar_misuse* misuse, void* argument);

/* Effects: `handler(misuse, argument)` is called on misuse in place of one line on stderr, without a lock held: it may
 * allocate. If it returns, the process ends. NULL restores the line on stderr. The stacks of a sampled block (option
 * sample) are written to stderr before. Not called for a fault: an access to an inaccessible page, as that to a sampled
 * block after its free or beyond its end. It has its report on stderr, and goes to the handler of SIGSEGV, if the program
 * has one: that may interrupt malloc, so this one could not allocate there. Threads: any; handler and argument change as
 * one, so that a misuse in another thread meanwhile has both of before or both of these. */
void ashlar_on_misuse(ashlar_misuse_handler handler, void* argument);

#ifdef __cplusplus
}
#endif

#endif
