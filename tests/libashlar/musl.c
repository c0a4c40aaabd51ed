/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program over musl under libashlar: the family, what musl allocates itself, ends of threads, forks, handlers at
 * exit. */
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

static void forks(void) {
  int i;
  for (i = 0; i < 20; ++i) {
    const pid_t child = fork();
    int status = 0;
    EXPECT(child >= 0);
    if (child == 0) {
      blocks_of_musl();
      _exit(7);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
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
  for (int i = 0; i < 160; ++i) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, set_key, NULL) == 0 && pthread_join(thread, NULL) == 0);
  }
}

static void* last = NULL;

static void allocate_at_exit(void) {
  free(last);
  last = malloc(3000);
}

int main(void) {
  EXPECT(atexit(allocate_at_exit) == 0);
  last = malloc(20);
  the_family();
  blocks_of_musl();
  ends_of_threads();
  forks();
  puts("done");
  return 0;
}
