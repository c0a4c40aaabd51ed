/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Holds 4 MB in blocks of 1000 bytes and 2 MB in larger ones, and asks twice for more than `max` allows. */
#include <errno.h>
#include <stdlib.h>

static void* volatile last; /* no compiler may drop what goes through it */

__attribute__((noinline)) static void hold(int count, size_t bytes) {
  int i;
  for (i = 0; i < count; ++i) last = malloc(bytes);
  last = NULL;
}

int main(void) {
  int i;
  hold(4000, 1000);
  hold(2, (size_t)1 << 20);
  for (i = 0; i < 2; ++i)
    if ((last = malloc((size_t)100 << 20)) != NULL || errno != ENOMEM) return 1;
  return (last = malloc(100)) != NULL ? 0 : 2;
}
