/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program with known live bytes by function, which it prints: name, live bytes, allocated bytes. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static void* volatile last; /* no compiler may drop what goes through it */
static void* volatile live[400000];
static size_t lives;
static pthread_mutex_t of_live = PTHREAD_MUTEX_INITIALIZER;

static void keep(void* p) { live[lives++] = p; }

NOINLINE static void make_small(int i) {
  keep(last = malloc((size_t)(40 + i % 4 * 8)));
  last = NULL;
}
NOINLINE static void make_medium(void) {
  keep(last = malloc(3000));
  last = NULL;
}
NOINLINE static void make_large(void) {
  keep(last = calloc(25, 8000));
  last = NULL;
}
NOINLINE static void make_huge(void) {
  keep(last = malloc((size_t)9 << 20));
  last = NULL;
}
NOINLINE static void make_short_lived(void) { /* of several threads */
  void* volatile mine = malloc(700);
  free(mine);
  mine = NULL;
}
NOINLINE static void make_grown(void) {
  void* p = malloc(100);
  p = realloc(p, 5000);
  p = realloc(p, 50000);
  keep(last = realloc(p, 500));
  last = NULL;
}

NOINLINE static void make_first(void) { /* the first block of its thread */
  void* volatile mine = malloc((size_t)9 << 20);
  pthread_mutex_lock(&of_live);
  keep(mine);
  pthread_mutex_unlock(&of_live);
}

static void* start_large(void* unused) {
  make_first();
  return unused;
}

static void* work(void* unused) {
  int i;
  for (i = 0; i < 30000; ++i) make_short_lived();
  return unused;
}

static void print(const char* name, double live_bytes, double allocated_bytes) {
  printf("%s %.0f %.0f\n", name, live_bytes, allocated_bytes);
}

static void __attribute__((noinline)) nest(unsigned path, unsigned depth) {
  if (depth == 0) last = malloc(20000);
  else if (path % 2 != 0) nest(path / 2, depth - 1);
  else nest(path / 2, depth - 1), last = malloc(64);
}

/* Many stacks, output in the buffer of a stream, and a status: which no report may change. */
static int nest_all(int raises) {
  unsigned path;
  for (path = 0; path < 4096; ++path) nest(path, 12);
  puts("done");
  if (raises) raise(SIGUSR2);
  return 7;
}

int main(int count, char** arguments) {
  const char* const way = count > 1 ? arguments[1] : "";
  pthread_t threads[2];
  int i;
  if (count > 2 && strcmp(way, "nested") == 0) return nest_all(strcmp(arguments[2], "signal") == 0);
  for (i = 0; i < 200000; ++i) {
    make_small(i);
    if (i % 20 == 0) make_medium();
    if (i % 2000 == 0) make_large();
    if (i % 50000 == 0) make_huge();
    if (i % 100 == 0) make_grown();
  }
  for (i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) abort();
  for (i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (i = 0; i < 10; ++i) {
    if (pthread_create(&threads[0], NULL, start_large, NULL) != 0) abort();
    pthread_join(threads[0], NULL);
  }
  print("make_first", 10.0 * (9 << 20), 10.0 * (9 << 20));
  print("make_small", 200000.0 * 52, 200000.0 * 52);
  print("make_medium", 10000.0 * 3000, 10000.0 * 3000);
  print("make_large", 100.0 * 200000, 100.0 * 200000);
  print("make_huge", 4.0 * (9 << 20), 4.0 * (9 << 20));
  print("make_grown", 2000.0 * 500, 2000.0 * 55600);
  print("make_short_lived", 0, 60000.0 * 700);
  fflush(stdout);
  if (strcmp(way, "signal") == 0) {
    raise(SIGUSR2);
    _exit(0);
  }
  if (strcmp(way, "fork") == 0) {
    int status = 1;
    const pid_t child = fork();
    if (child == 0) exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    printf("child %d\n", (int)child);
  }
  return 0;
}
