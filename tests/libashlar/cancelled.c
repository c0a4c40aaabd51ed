/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread that is to be cancelled has a profile written by a signal, is refused memory with a report, and writes the
   statistics: it ends behind all three, at its own cancellation point, and keeps no lock. To be run with stats=max, a
   limit below 64 MiB, and profile_signal=12. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void* volatile last; /* no compiler may drop what goes through it */
static volatile int passed;

static void* allocates(void* ignored) {
  int i;
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  (void)pthread_cancel(pthread_self());
  (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  for (i = 0; i < 1000; ++i) free(last = malloc(10000));
  (void)pthread_kill(pthread_self(), 12);
  free(last = malloc((size_t)64 << 20));
  malloc_stats();
  passed = 1;
  pthread_testcancel();
  return ignored;
}

int main(void) {
  pthread_t thread;
  void* result = NULL;
  int i;
  if (pthread_create(&thread, NULL, allocates, NULL) != 0 || pthread_join(thread, &result) != 0) return 1;
  if (!passed) return 2;
  if (result != PTHREAD_CANCELED) return 3;
  for (i = 0; i < 1000; ++i) free(last = malloc(10000));
  return 0;
}
