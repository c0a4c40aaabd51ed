/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * usage: many_threads <way> <threads> [<MiB>]: threads that hold a few small blocks each, all at once, and what the
 * system counts for them:
 *   data, space   under a limit of data or of address space of so many MiB: each gets its blocks
 *   locked        under mlockall(MCL_FUTURE): at most so many MiB are resident (status 77: the system locks no memory)
 *   resident      at most so many MiB are resident
 *   charged       at most so many MiB are data, which the system may have to provide
 *   short         one after the other, eight at a time */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { blocks = 24, most_threads = 4096, at_once = 8 };

static pthread_barrier_t all_hold;
static pthread_attr_t small_stacks;
static pthread_t threads[most_threads];

static void fail(const char* what) {
  fprintf(stderr, "many_threads: %s\n", what);
  _exit(1);
}

static void* hold(void* is_held) {
  char* held[blocks];
  for (size_t i = 0; i < blocks; ++i) {
    const size_t bytes = 100 + i % 4 * 16 + (i == 0 ? 20000 : 0);
    held[i] = malloc(bytes);
    if (held[i] == NULL) fail("a thread has no memory");
    memset(held[i], 1, bytes);
  }
  if (is_held != NULL) pthread_barrier_wait(&all_hold);
  for (size_t i = 0; i < blocks; ++i) free(held[i]);
  return NULL;
}

static void start(int first, int last, void* is_held) {
  for (int i = first; i < last; ++i)
    if (pthread_create(&threads[i], &small_stacks, hold, is_held) != 0) fail("no thread");
}

static void join(int first, int last) {
  for (int i = first; i < last; ++i) pthread_join(threads[i], NULL);
}

static void limit(int which, long mib) {
  const struct rlimit most = {(rlim_t)mib << 20, (rlim_t)mib << 20};
  if (setrlimit(which, &most) != 0) fail("no limit");
}

static long status_kib(const char* name) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) return fclose(status), strtol(line + strlen(name), NULL, 10);
  fail("no /proc");
  return 0;
}

static int at_most(const char* name, long mib) {
  const long kib = status_kib(name);
  printf("%s %ld KiB, at most %ld\n", name, kib, mib * 1024);
  return kib > mib * 1024;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const way = argv[1];
  const int count = atoi(argv[2]);
  const long mib = argc > 3 ? atol(argv[3]) : 0;
  pthread_attr_init(&small_stacks);
  pthread_attr_setstacksize(&small_stacks, 65536);
  if (strcmp(way, "short") == 0) {
    for (int i = 0; i < count; i += at_once) start(0, at_once, NULL), join(0, at_once);
    return 0;
  }
  if (count > most_threads) return 2;
  if (strcmp(way, "data") == 0) limit(RLIMIT_DATA, mib);
  if (strcmp(way, "space") == 0) limit(RLIMIT_AS, mib);
  if (strcmp(way, "locked") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  pthread_barrier_init(&all_hold, NULL, (unsigned)count + 1);
  start(0, count, threads);
  pthread_barrier_wait(&all_hold);
  join(0, count);
  if (strcmp(way, "charged") == 0) return at_most("VmData:", mib);
  return (strcmp(way, "locked") == 0 || strcmp(way, "resident") == 0) && at_most("VmHWM:", mib);
}
