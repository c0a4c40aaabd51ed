/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Misuse of guarded blocks, in functions that the reports name; threads and forks on a heap with many samples. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "malloc/ashlar_malloc.h"

#define NOINLINE __attribute__((noinline))

enum { size = 48 };
static void* volatile seen; /* no compiler may drop what goes through it */
static volatile char byte;

NOINLINE static void make_block(void) {
  seen = malloc(size);
  byte = 1;
}
NOINLINE static void drop_block(void) {
  free(seen);
  byte = 2;
}
NOINLINE static void drop_again(void) {
  free(seen);
  byte = 3;
}
NOINLINE static void ask_size(void) {
  byte = (char)malloc_usable_size(seen);
  byte = 4;
}
NOINLINE static void grow_block(void) {
  seen = realloc(seen, 100);
  byte = 4;
}
NOINLINE static void drop_sized(void) {
  void (*free_sized_)(void*, size_t);
  *(void**)&free_sized_ = dlsym(RTLD_DEFAULT, "free_sized");
  free_sized_(seen, size - 8);
  byte = 5;
}
NOINLINE static void make_by_posix_memalign(void) {
  void* p = NULL;
  if (posix_memalign(&p, 64, size) != 0) abort();
  seen = p;
  byte = 1;
}
/* As a program in C++, without its library. */
NOINLINE static void make_by_new(void) {
  void* (*new_)(size_t);
  *(void**)&new_ = dlsym(RTLD_DEFAULT, "_Znwm");
  seen = new_(size);
  byte = 1;
}
NOINLINE static void make_by_aligned_new(void) {
  void* (*new_)(size_t, size_t);
  *(void**)&new_ = dlsym(RTLD_DEFAULT, "_ZnwmSt11align_val_t");
  seen = new_(size, 64);
  byte = 1;
}
NOINLINE static void read_at(long offset) { byte = ((char*)seen)[offset]; }
NOINLINE static void write_at(long offset) { ((char*)seen)[offset] = 4; }
/* Canary is any byte, so that a constant one would be the same in one run of 256. */
NOINLINE static void change_at(long offset) { ((char*)seen)[offset] ^= 4; }

/* As write_at, with a small number in the register of frames, as code without frame pointers may have one there. */
NOINLINE static void write_without_frame(long offset) {
  char* const at = (char*)seen + offset;
#if defined(__x86_64__)
  __asm__ volatile("movq %%rbp, %%rax; movl $0x38, %%ebp; movb $4, (%0); movq %%rax, %%rbp"
                   :
                   : "D"(at)
                   : "rax", "memory");
#else
  *at = 4;
#endif
}

/* Makes a block that ends with its page, or begins with it. The other ones stay in the heap's hands. */
static void make_block_at(int end) {
  int tries;
  for (tries = 0; tries < 60; ++tries) {
    make_block();
    if (((uintptr_t)seen + (end ? size : 0)) % 4096 == 0) return;
    drop_block();
  }
  fputs("no block at this end of a page\n", stderr);
  exit(3);
}

static void* work(void* argument) {
  enum { most = 200 };
  unsigned random = (unsigned)(uintptr_t)argument + 1;
  char* blocks[most] = {0};
  size_t sizes[most] = {0};
  int turn;
  for (turn = 0; turn < 60000; ++turn) {
    int at;
    random = random * 1103515245u + 12345u;
    at = (int)(random >> 16) % most;
    if (blocks[at] != NULL) {
      size_t last = sizes[at] - 1;
      if (blocks[at][0] != (char)at || blocks[at][last] != (char)at) abort();
    }
    if (random >> 28 < 4 && blocks[at] != NULL) {
      free(blocks[at]);
      blocks[at] = NULL;
    } else {
      sizes[at] = 1 + (random >> 12) % 5000;
      blocks[at] = realloc(blocks[at], sizes[at]);
      if (blocks[at] == NULL) abort();
      memset(blocks[at], at, sizes[at]);
    }
  }
  for (turn = 0; turn < most; ++turn) free(blocks[turn]);
  return NULL;
}

static int threads_and_forks(void) {
  pthread_t threads[4];
  int i, failed = 0;
  for (i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, work, (void*)(uintptr_t)(i + 1)) != 0) abort();
  for (i = 0; i < 20; ++i) {
    const pid_t child = fork();
    int status = 1;
    if (child == 0) {
      int turn;
      for (turn = 0; turn < 200; ++turn) make_block(), write_at(size - 1), drop_block();
      _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) ++failed;
  }
  for (i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return failed;
}

/* Pages that stay resident after they were given back are cleared for the next block. */
static int locked_pages(void) {
  for (int turn = 0; turn < 200; ++turn) {
    char* const block = calloc(1, size);
    for (int k = 0; k < size; ++k)
      if (block[k] != 0) return 3;
    if (mlock(block, size) != 0) return 0;
    memset(block, 1, size);
    free(block);
  }
  return 0;
}

/* A block of the process stays one when a thread with a default heap resizes it, and so does a block of that heap when
 * a thread without one does. */
static int resized_in_its_heap(void) {
  void* const here = dlopen(NULL, RTLD_LAZY);
  ashlar_heap* (*make)(const ashlar_heap_options*);
  ashlar_heap* (*set_default)(ashlar_heap*);
  void* (*make_in)(ashlar_heap*, size_t);
  ashlar_heap* (*heap_of)(const void*);
  void (*end)(ashlar_heap*);
  *(void**)&make_in = dlsym(here, "ashlar_heap_malloc");
  *(void**)&heap_of = dlsym(here, "ashlar_heap_of");
  *(void**)&make = dlsym(here, "ashlar_heap_new");
  *(void**)&set_default = dlsym(here, "ashlar_heap_set_default_for_thread");
  *(void**)&end = dlsym(here, "ashlar_heap_delete");
  ashlar_heap* const other = make(NULL);
  for (int turn = 0; turn < 200; ++turn) {
    char* block = make_in(other, size);
    memset(block, 5, size);
    block = realloc(block, turn % 2 == 0 ? 2 * size : 5000);
    if (block[size - 1] != 5 || heap_of(block) != other) return 4;
    free(block);
  }
  for (int turn = 0; turn < 200; ++turn) {
    char* block = malloc(size);
    memset(block, 5, size);
    set_default(other);
    block = realloc(block, turn % 2 == 0 ? 2 * size : 5000);
    set_default(NULL);
    if (block[size - 1] != 5) return 3;
    if (turn == 100) end(other), set_default(NULL), turn = 200;
    block[0] = 1;
    free(block);
  }
  return 0;
}

static void hear(const ashlar_misuse* misuse, void* unused) {
  free(malloc(100)); /* allowed here */
  fprintf(stderr, "mine\n");
  (void)misuse, (void)unused;
}

static void handle(int signal) {
  static const char text[] = "mine\n";
  if (write(2, text, sizeof text - 1) < 0) _exit(4);
  _exit(signal);
}

/* The library asks for the handler of SIGSEGV here. As from another thread, one is installed right after its look. */
static int is_meanwhile;
int sigaction(int signal, const struct sigaction* restrict now, struct sigaction* restrict former) {
  int (*real)(int, const struct sigaction*, struct sigaction*);
  int result;
  *(void**)&real = dlsym(RTLD_NEXT, "sigaction");
  result = real(signal, now, former);
  if (is_meanwhile && signal == SIGSEGV && now == NULL) {
    struct sigaction mine;
    memset(&mine, 0, sizeof mine);
    mine.sa_handler = handle;
    is_meanwhile = 0;
    real(signal, &mine, NULL);
  }
  return result;
}

/* Of a fault no handler of misuse hears: it may allocate, which the handler of a signal may not. */
static void hear_misuse(void) {
  void (*on_misuse)(void (*)(const ashlar_misuse*, void*), void*);
  *(void**)&on_misuse = dlsym(RTLD_DEFAULT, "ashlar_on_misuse");
  on_misuse(hear, NULL);
}

static void install_handler(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  sigaction(SIGSEGV, &action, NULL);
}

/* Runs one of the ways without a loop. Returns: whether there is such a way. */
static int misuse(const char* way) {
  if (strcmp(way, "size_of_freed") == 0) make_block(), drop_block(), ask_size();
  else if (strcmp(way, "resized_freed") == 0) make_block(), drop_block(), grow_block();
  else if (strcmp(way, "invalid_free") == 0) make_block(), seen = (char*)seen + 40 * 8192, drop_block();
  else if (strcmp(way, "size_mismatch") == 0) make_block(), drop_sized();
  else if (strcmp(way, "by_posix_memalign") == 0) make_by_posix_memalign(), drop_block(), read_at(3);
  else if (strcmp(way, "by_new") == 0) make_by_new(), drop_block(), read_at(3);
  else if (strcmp(way, "by_aligned_new") == 0) make_by_aligned_new(), drop_block(), read_at(3);
  else if (strcmp(way, "use_after_free") == 0) make_block(), drop_block(), read_at(3);
  else if (strcmp(way, "write_after_free") == 0) make_block(), drop_block(), write_at(3);
  else if (strcmp(way, "without_frame") == 0) make_block(), drop_block(), write_without_frame(3);
  else if (strcmp(way, "overflow") == 0) make_block_at(1), write_at(size);
  else if (strcmp(way, "underflow") == 0) make_block_at(0), read_at(-1);
  else if (strcmp(way, "double_free") == 0) make_block(), drop_block(), drop_again();
  else if (strcmp(way, "freed_overflow") == 0) make_block_at(0), change_at(size), drop_block();
  else if (strcmp(way, "freed_underflow") == 0) make_block_at(1), change_at(-1), drop_block();
  else if (strcmp(way, "misaligned_free") == 0) make_block(), seen = (char*)seen + 16, drop_block();
  else if (strcmp(way, "other_fault") == 0) make_block(), seen = NULL, write_at(3);
  else if (strcmp(way, "handler") == 0) install_handler(), make_block(), drop_block(), read_at(3);
  else if (strcmp(way, "handler_meanwhile") == 0) is_meanwhile = 1, make_block(), drop_block(), read_at(3);
  else if (strcmp(way, "heard_double_free") == 0) hear_misuse(), make_block(), drop_block(), drop_again();
  else if (strcmp(way, "unheard_fault") == 0) hear_misuse(), make_block(), drop_block(), read_at(3);
  else return 0;
  return 1;
}

int main(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "";
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (strcmp(way, "threads") == 0) return threads_and_forks();
  if (strcmp(way, "locked_pages") == 0) return locked_pages();
  if (strcmp(way, "resized_in_its_heap") == 0) return resized_in_its_heap();
  return misuse(way) ? 0 : 2;
}
