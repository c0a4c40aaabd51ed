/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread changes the handler of misuse and its argument while another one misuses the heap: each call of a handler has
   the argument that was installed with it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include <ashlar_malloc.h>

#include "expect.h"

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

static void* change(void* unused) {
  while (!is_over) {
    ashlar_on_misuse(handle_first, &of_first);
    ashlar_on_misuse(handle_second, &of_second);
  }
  return unused;
}

int main(void) {
  volatile int round;
  pthread_t thread;
  ashlar_on_misuse(handle_first, &of_first);
  EXPECT(pthread_create(&thread, NULL, change, NULL) == 0);
  for (round = 0; round < 2000000 && (round < 300000 || calls_of_first == 0 || calls_of_second == 0); ++round)
    if (setjmp(next_round) == 0) free(foreign + (9 << 20) + 512);
  is_over = 1;
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(wrong == 0 && calls_of_first + calls_of_second == round);
  return 0;
}
