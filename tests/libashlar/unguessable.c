/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * usage: unguessable <way>: what no other process may know of a heap
 *   overflows   each byte value, written behind blocks, is noticed, but for chance
 *   canaries    no two processes and no two blocks have one, and none has a byte that ends a text
 *   forks       no place has one in ten of the first blocks of the children of one process
 *   processes   nor, within 64 KiB, one in four of the first blocks of processes
 *   reuse       a freed block of any size comes back after many others, and nobody foresees after how many
 * ASHLAR_STRESS multiplies the runs. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { sizes = 4, blocks = 64, asked = 24, most_runs = 6000 };
static const size_t bytes_of[sizes] = {24, 200, 1000, 5000};

typedef struct {
  uint64_t words[blocks];
} answer;

static const char* self;
static answer answers[most_runs];
static uint64_t sorted[most_runs * blocks];

static int stressed(int runs) {
  const char* const by = getenv("ASHLAR_STRESS");
  const int wanted = by == NULL ? runs : runs * atoi(by);
  return wanted < most_runs ? wanted : most_runs;
}

static void tell_first_blocks(answer* to) {
  for (int i = 0; i < sizes; ++i) to->words[i] = (uint64_t)(uintptr_t)malloc(bytes_of[i]);
}

/* The bytes behind blocks that are no multiple of the cells' granule. */
static void tell_canaries(answer* to) {
  for (int i = 0; i < blocks; ++i) {
    const volatile char* const block = malloc(asked);
    for (int byte = 0; byte < 8; ++byte) ((char*)&to->words[i])[byte] = block[asked + byte];
  }
}

/* A child tells the answer itself, or as a program of its own. */
static void ask_child(const char* way, void (*tell)(answer*), answer* to) {
  int ends[2], status;
  pid_t child;
  EXPECT(pipe(ends) == 0 && (child = fork()) >= 0);
  if (child == 0) {
    if (tell != NULL) tell(to);
    else if (dup2(ends[1], 1) == 1) execl("/proc/self/exe", self, way, (char*)NULL);
    _exit(tell == NULL || write(ends[1], to, sizeof *to) != (ssize_t)sizeof *to);
  }
  close(ends[1]);
  EXPECT(read(ends[0], to, sizeof *to) == (ssize_t)sizeof *to);
  close(ends[0]);
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static int tell_parent(void (*tell)(answer*)) {
  static answer told;
  tell(&told);
  return write(1, &told, sizeof told) != (ssize_t)sizeof told;
}

static int by_value(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

/* Returns: how often the most frequent one is among the first words of `sorted`. */
static int most_alike(int count) {
  int most = 0, run = 0;
  qsort(sorted, (size_t)count, sizeof *sorted, by_value);
  for (int i = 0; i < count; ++i) {
    run = i != 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    if (run > most) most = run;
  }
  return most;
}

static void expect_spread(int runs, uint64_t mask, int most_percent) {
  int failed = 0;
  for (int size = 0; size < sizes; ++size) {
    int alike;
    for (int i = 0; i < runs; ++i) sorted[i] = answers[i].words[size] & mask;
    alike = most_alike(runs);
    printf("%d of %d blocks of %zu bytes are at one place\n", alike, runs, bytes_of[size]);
    failed |= alike * 100 > most_percent * runs;
  }
  EXPECT(!failed);
}

/* A server that has used its heap for a while before it forks, and has few free cells left of some sizes. */
static void spread_over_forks(void) {
  const int runs = stressed(600);
  void* used[400];
  for (int i = 0; i < 400; ++i) used[i] = malloc(bytes_of[i % sizes]);
  for (int i = 0; i < 400; i += 3) free(used[i]);
  for (int i = 0; i < runs; ++i) ask_child("", tell_first_blocks, &answers[i]);
  expect_spread(runs, ~UINT64_C(0), 10);
}

static void spread_over_processes(void) {
  const int runs = stressed(600);
  for (int i = 0; i < runs; ++i) ask_child("first", NULL, &answers[i]);
  expect_spread(runs, 0xFFFF, 25);
}

static void distinguish_canaries(void) {
  const int runs = stressed(50), words = runs * blocks;
  int alike;
  for (int i = 0; i < runs; ++i) ask_child("tell", NULL, &answers[i]);
  for (int i = 0; i < words; ++i) {
    sorted[i] = answers[i / blocks].words[i % blocks];
    for (int byte = 0; byte < 8; ++byte) EXPECT(((char*)&sorted[i])[byte] != 0);
  }
  alike = most_alike(words);
  printf("%d of %d canaries are alike\n", alike, words);
  EXPECT(alike == 1);
}

/* Returns: whether a child that writes so many bytes of one value behind a block is ended by SIGABRT. */
static int is_noticed(int value, size_t bytes) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    char* volatile block = malloc(asked);
    memset(block, 1, asked);
    for (size_t i = 0; i < bytes; ++i) ((volatile char*)block)[asked + i] = (char)value;
    free(block);
    _exit(0);
  }
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void notice_each_value(void) {
  const int runs = stressed(2);
  EXPECT(freopen("/dev/null", "w", stderr) != NULL); /* of the children */
  for (int value = 0; value < 256; ++value) {
    int noticed = 0;
    for (int i = 0; i < runs; ++i) noticed += is_noticed(value, 1);
    if (noticed == 0 || !is_noticed(value, 8)) {
      printf("byte %d: %d of %d overflows by one are noticed, that by eight: %d\n", value, noticed, runs,
             is_noticed(value, 8));
      exit(1);
    }
  }
}

enum { turns = 20000, freed_turns = 2000, live_blocks = 64, places = 1 << 16, least_wait = 100, least_median = 150 };
static struct {
  void* block;
  int turn;
} freed[places];

/* The turn in which a block was freed last, or 0. */
static int* turn_of(void* block) {
  size_t place = (uintptr_t)block / 16 % places;
  while (freed[place].block != block && freed[place].block != NULL) place = (place + 1) % places;
  freed[place].block = block;
  return &freed[place].turn;
}

/* Frees a block and allocates one in turn. Returns: the number of waits of the first freed ones, in `sorted`. */
static int waits_for_reuse(size_t bytes) {
  static void* live[live_blocks];
  int waited = 0;
  memset(freed, 0, sizeof freed);
  for (int turn = 1; turn < turns; ++turn) {
    void** const block = &live[turn % live_blocks];
    int* since;
    if (*block != NULL) *turn_of(*block) = turn;
    free(*block);
    *block = malloc(bytes);
    since = turn_of(*block);
    if (*since != 0 && *since <= freed_turns) sorted[waited++] = (uint64_t)(turn - *since);
    *since = 0;
  }
  qsort(sorted, (size_t)waited, sizeof *sorted, by_value);
  return waited;
}

static void wait_for_reuse(void) {
  static const size_t bytes[] = {16, 64, 256, 1000, 4000, 16000, 32000};
  int failed = 0;
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; ++i) {
    const int waits = waits_for_reuse(bytes[i]);
    const int least = (int)sorted[0], median = (int)sorted[waits / 2], most = (int)sorted[waits - 1];
    printf("%d blocks of %zu bytes came back after %d to %d frees, half of them after %d\n", waits, bytes[i], least,
           most, median);
    failed |= waits == 0 || least < least_wait || median < least_median || most < 2 * least;
  }
  EXPECT(!failed);
}

int main(int count, char** arguments) {
  const struct rlimit none = {0, 0};
  const char* const way = count == 2 ? arguments[1] : "";
  self = arguments[0];
  setrlimit(RLIMIT_CORE, &none);
  if (strcmp(way, "overflows") == 0) notice_each_value();
  else if (strcmp(way, "canaries") == 0) distinguish_canaries();
  else if (strcmp(way, "forks") == 0) spread_over_forks();
  else if (strcmp(way, "processes") == 0) spread_over_processes();
  else if (strcmp(way, "reuse") == 0) wait_for_reuse();
  else if (strcmp(way, "first") == 0) return tell_parent(tell_first_blocks);
  else if (strcmp(way, "tell") == 0) return tell_parent(tell_canaries);
  else return 2;
  return 0;
}
