/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Holds 4 MB in blocks of 1000 bytes and 2 MB in larger ones, and asks twice for more than `max` allows. With an argument
   it has a pipe as descriptor 2 meanwhile, as a daemon has a file of its own there: no report may come out of it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void* volatile last; /* no compiler may drop what goes through it */

__attribute__((noinline)) static void hold(int count, size_t bytes) {
  int i;
  for (i = 0; i < count; ++i) last = malloc(bytes);
  last = NULL;
}

static int is_refused(void) {
  int i;
  for (i = 0; i < 2; ++i)
    if ((last = malloc((size_t)100 << 20)) != NULL || errno != ENOMEM) return 0;
  return 1;
}

/* Returns: the other end of the pipe. */
static int put_pipe_in_place_of_errors(void) {
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], 2) != 2) exit(3);
  close(ends[1]);
  return ends[0];
}

static int is_empty(int pipe) {
  char c;
  close(2);
  return read(pipe, &c, 1) == 0;
}

int main(int count, char** arguments) {
  const int pipe = count > 1 ? put_pipe_in_place_of_errors() : -1;
  (void)arguments;
  hold(4000, 1000);
  hold(2, (size_t)1 << 20);
  if (!is_refused()) return 1;
  if (pipe >= 0 && !is_empty(pipe)) return 4;
  return (last = malloc(100)) != NULL ? 0 : 2;
}
