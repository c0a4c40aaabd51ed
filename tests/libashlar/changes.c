/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options, or with an argument the handler of misuse, are changed by threads while others allocate or misuse the heap.
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ashlar_malloc.h>

#include "expect.h"

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

/* A thread changes the handler and its argument while another one misuses the heap: each call of a handler has the
   argument that was installed with it. */
static char foreign[16 << 20]; /* with a whole 4 MiB in it, which is no segment */
static char of_first, of_second;
static volatile int calls_of_first, calls_of_second, wrong;
static volatile int is_over;
static jmp_buf next_round; /* a handler that returned would end the process */

static void handle_first(const ashlar_misuse* misuse, void* argument) {
  (void)misuse;
  ++calls_of_first;
  wrong += argument != &of_first;
  longjmp(next_round, 1);
}

static void handle_second(const ashlar_misuse* misuse, void* argument) {
  (void)misuse;
  ++calls_of_second;
  wrong += argument != &of_second;
  longjmp(next_round, 1);
}

static void* change_handlers(void* unused) {
  while (!is_over) {
    ashlar_on_misuse(handle_first, &of_first);
    ashlar_on_misuse(handle_second, &of_second);
  }
  return unused;
}

static void handlers(void) {
  volatile int round;
  pthread_t thread;
  ashlar_on_misuse(handle_first, &of_first);
  EXPECT(pthread_create(&thread, NULL, change_handlers, NULL) == 0);
  for (round = 0; round < 2000000 && (round < 300000 || calls_of_first == 0 || calls_of_second == 0); ++round)
    if (setjmp(next_round) == 0) free(foreign + (9 << 20) + 512);
  is_over = 1;
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(wrong == 0 && calls_of_first + calls_of_second == round);
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count > 1) return handlers(), 0;
  change_by_threads();
  keep_handlers();
  take_another_signal();
  never_trim();
  return 0;
}
