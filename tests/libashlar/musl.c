/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program over musl under libashlar: the family, what musl allocates itself, ends of threads, forks while threads
 * allocate, handlers at exit. With an argument it ends otherwise: "double_free", "use_after_free". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { threads_at_once = 4, blocks_of_thread = 500, turns_of_thread = 30000, forks = 20, short_threads = 160 };

static void the_family(void) {
  for (size_t bytes = 0; bytes < 100000; bytes += bytes / 7 + 1) {
    char* p = malloc(bytes);
    EXPECT(p != NULL && (uintptr_t)p % 16 == 0 && malloc_usable_size(p) >= bytes);
    memset(p, 0x5a, bytes);
    p = realloc(p, 2 * bytes + 1);
    EXPECT(p != NULL && (bytes == 0 || (p[0] == 0x5a && p[bytes - 1] == 0x5a)));
    free(p);
    char* const cleared = calloc(bytes, 3);
    EXPECT(cleared != NULL && (bytes == 0 || (cleared[0] == 0 && cleared[3 * bytes - 1] == 0)));
    free(cleared);
  }
  for (size_t alignment = sizeof(void*); alignment <= 65536; alignment *= 2) {
    void* aligned = NULL;
    EXPECT(posix_memalign(&aligned, alignment, 100) == 0 && (uintptr_t)aligned % alignment == 0);
    void* const same = aligned_alloc(alignment, alignment);
    void* const old = memalign(alignment, 10);
    EXPECT((uintptr_t)same % alignment == 0 && (uintptr_t)old % alignment == 0);
    free(aligned);
    free(same);
    free(old);
  }
  errno = 0;
  EXPECT(malloc(PTRDIFF_MAX) == NULL && errno == ENOMEM);
  EXPECT(reallocarray(NULL, SIZE_MAX / 2, 3) == NULL);
}

static void blocks_of_musl(void) {
  char *line = NULL, *text = NULL;
  size_t room = 0;
  FILE* const file = fopen("/proc/self/status", "r");
  EXPECT(file != NULL && getline(&line, &room, file) > 0 && malloc_usable_size(line) >= room);
  free(line);
  fclose(file);
  EXPECT(asprintf(&text, "%0200d", 7) == 200 && malloc_usable_size(text) >= 201);
  free(text);
  char* const copy = strdup("a copy");
  char* const here = realpath("/proc/self", NULL);
  EXPECT(malloc_usable_size(copy) >= 7 && here != NULL);
  free(copy);
  free(here);
}

static void* replace_blocks(void* first) {
  char* blocks[blocks_of_thread] = {0};
  size_t state = (size_t)(uintptr_t)first;
  for (int turn = 0; turn < turns_of_thread; ++turn) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    char** const at = &blocks[(state >> 40) % blocks_of_thread];
    if (*at != NULL) EXPECT(**at == (char)(uintptr_t)at);
    free(*at);
    *at = malloc(1 + (state >> 50) % 3000);
    **at = (char)(uintptr_t)at;
  }
  for (int i = 0; i < blocks_of_thread; ++i) free(blocks[i]);
  return malloc(100); /* the thread that joins frees it */
}

static void forks_beside_threads(void) {
  pthread_t threads[threads_at_once];
  for (uintptr_t i = 0; i < threads_at_once; ++i)
    EXPECT(pthread_create(&threads[i], NULL, replace_blocks, (void*)i) == 0);
  for (int i = 0; i < forks; ++i) {
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
      blocks_of_musl();
      free(replace_blocks(NULL));
      _exit(7);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  for (int i = 0; i < threads_at_once; ++i) {
    void* block = NULL;
    EXPECT(pthread_join(threads[i], &block) == 0);
    free(block);
  }
}

static pthread_key_t key;

static void free_twice_set(void* block) {
  free(block);
  static _Thread_local int turns = 0;
  if (++turns < 3) EXPECT(pthread_setspecific(key, malloc(50)) == 0);
}

static void* set_key(void* unused) {
  EXPECT(pthread_setspecific(key, malloc(50)) == 0);
  return unused;
}

static void ends_of_threads(void) {
  EXPECT(pthread_key_create(&key, free_twice_set) == 0);
  for (int i = 0; i < short_threads; ++i) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, set_key, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
}

static void* last = NULL;

static void allocate_at_exit(void) {
  free(last);
  last = malloc(3000);
}

int main(int count, char** words) {
  if (count > 1) {
    char* volatile block = malloc(40);
    free(block);
    if (strcmp(words[1], "double_free") == 0) free(block);
    else if (strcmp(words[1], "use_after_free") == 0) block[0] = 1;
    else EXPECT(!"a word that is known");
    return 0;
  }
  EXPECT(atexit(allocate_at_exit) == 0);
  last = malloc(20);
  the_family();
  blocks_of_musl();
  ends_of_threads();
  forks_beside_threads();
  puts("done");
  return 0;
}
