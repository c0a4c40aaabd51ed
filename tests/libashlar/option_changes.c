/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options are changed by several threads while others allocate, and the handlers of the program stay. */
#include <malloc.h>
#include <pthread.h>
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

int main(void) {
  change_by_threads();
  keep_handlers();
  take_another_signal();
  never_trim();
  return 0;
}
