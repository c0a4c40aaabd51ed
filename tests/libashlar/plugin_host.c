/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens libashlar while it runs: the calls of ashlar_malloc.h work beside the malloc of the program, also in threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* (*allocate)(size_t);
typedef void (*deallocate)(void*);

static allocate their_malloc;
static deallocate their_free;

static void* work(void* argument) {
  int i;
  for (i = 0; i < 1000; ++i) {
    char* const p = their_malloc((size_t)i * 7);
    char* const q = malloc((size_t)i * 5 + 1);
    if (p == NULL || q == NULL) return argument;
    memset(p, 1, (size_t)i * 7);
    free(q);
    their_free(p);
  }
  return NULL;
}

int main(int count, char** arguments) {
  pthread_t threads[4];
  void* failed = NULL;
  int i;
  void* const library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void**)&their_malloc = dlsym(library, "ashlar_malloc");
  *(void**)&their_free = dlsym(library, "ashlar_free");
  if (their_malloc == NULL || their_free == NULL) return 1;
  for (i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, work, &failed) != 0) return 1;
  dlclose(library); /* it stays: blocks and thread ends need it */
  for (i = 0; i < 4; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    if (result != NULL) failed = result;
  }
  return failed == NULL ? 0 : 1;
}
