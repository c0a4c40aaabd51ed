/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program that misuses its heap in the way that its argument names. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ashlar_malloc.h>

#include "expect.h"

void free_sized(void* p, size_t bytes);
void sdallocx(void* p, size_t bytes, int flags);

static void* volatile seen; /* no compiler may drop what goes through it */

static const char text_of_40[] = "a byte more than the block, with its end"; /* 41 bytes in all */

static void handle(const ashlar_misuse* misuse, void* argument) {
  void* const p = malloc(100); /* allowed here */
  fprintf(stderr, "%s: %s\n", (const char*)argument, misuse->kind);
  free(p);
}

static ashlar_heap* volatile heap;
static char foreign[16 << 20]; /* with a whole 4 MiB in it, which is no segment */

static void delete_heap(void) { ashlar_heap_delete(heap); }

static void* block_of_heap(void) { return ashlar_heap_malloc(ashlar_heap_new(NULL), 40); }

/* The later one of two: so it is not the first of its slab, with nothing in front of it. */
static char* block_behind_another(void) {
  char* const other = malloc(40);
  return other > (char*)seen ? other : seen;
}

/* At its next cancellation point the thread ends, and with it the process, by status 0. */
static void be_cancelled(void) {
  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  (void)pthread_cancel(pthread_self());
  (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

static void use_freed_cell(void) {
  int i;
  free(seen);
  *(char*)seen = 1;
  for (i = 0; i < 10000; ++i) free(malloc(40));
}

/* A thread changes the handler and its argument while another one misuses the heap: each call of a handler has the
   argument that was installed with it. */
static char of_first, of_second;
static volatile int calls_of_first, calls_of_second, wrong;
static volatile int is_over;
static jmp_buf next_round; /* a handler that returned would end the process */

static void note(volatile int* calls, int is_right) {
  ++*calls;
  wrong += !is_right;
  longjmp(next_round, 1);
}
static void handle_first(const ashlar_misuse* misuse, void* argument) {
  (void)misuse, note(&calls_of_first, argument == &of_first);
}
static void handle_second(const ashlar_misuse* misuse, void* argument) {
  (void)misuse, note(&calls_of_second, argument == &of_second);
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
  const char* const way = count > 1 ? arguments[1] : "";
  seen = malloc(40);
  if (strcmp(way, "handlers") == 0) return handlers(), 0;
  if (count > 2) ashlar_on_misuse(handle, arguments[2]);
  if (strcmp(way, "double_free") == 0) free(seen), free(seen);
  else if (strcmp(way, "cancelled_double_free") == 0) be_cancelled(), free(seen), free(seen);
  else if (strcmp(way, "cancelled_use") == 0) be_cancelled(), free(seen), *(volatile char*)seen = 1;
  else if (strcmp(way, "invalid_free") == 0) seen = arguments, free(seen);
  else if (strcmp(way, "misaligned_free") == 0) free((char*)seen + 16);
  else if (strcmp(way, "size_mismatch") == 0) free_sized(seen, 400);
  else if (strcmp(way, "overflow") == 0) ((char*)seen)[40] = 1, free(seen);
  else if (strcmp(way, "copy") == 0) memcpy(seen, text_of_40, 41);
  else if (strcmp(way, "move") == 0) memmove(seen, text_of_40, 41);
  else if (strcmp(way, "fill") == 0) memset(seen, 1, 41);
  else if (strcmp(way, "string") == 0) strcpy(seen, text_of_40);
  else if (strcmp(way, "size_of_flagged") == 0) sdallocx(seen, 400, 0);
  else if (strcmp(way, "small_size_of_flagged") == 0) sdallocx(seen, 20, 0);
  else if (strcmp(way, "underflow") == 0) seen = block_behind_another(), ((char*)seen)[-1] = 1, free(seen);
  else if (strcmp(way, "overflow_of_large") == 0) seen = malloc(300000), ((char*)seen)[300000] = 1, free(seen);
  else if (strcmp(way, "write_after_free") == 0) use_freed_cell();
  else if (strcmp(way, "zero_size") == 0) seen = malloc(0), *(volatile char*)seen = 1;
  else if (strcmp(way, "heap_deleted_twice") == 0) heap = ashlar_heap_new(NULL), delete_heap(), delete_heap();
  else if (strcmp(way, "wrong_heap") == 0) ashlar_heap_free(ashlar_heap_of_process(), block_of_heap());
  else if (strcmp(way, "wrong_heap_object") == 0) ashlar_heap_free(ashlar_heap_new(NULL), seen);
  else if (strcmp(way, "huge_after_free") == 0) {
    seen = memset(malloc(6 << 20), 7, 6 << 20);
    free(seen);
    return ((volatile char*)seen)[5 << 20];
  } else if (strcmp(way, "foreign") == 0) free(foreign + (9 << 20) + 512);
  else if (strcmp(way, "foreign_beside_heap") == 0) heap = ashlar_heap_new(NULL), free(foreign + (9 << 20) + 512);
  else return 2;
  return 0;
}
