/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program with many stacks, that ends with the status 7 and output in the buffer of its stream; a signal before that.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* volatile last;

static void __attribute__((noinline)) nest(unsigned path, unsigned depth) {
  if (depth == 0) last = malloc(20000);
  else if (path % 2 != 0) nest(path / 2, depth - 1);
  else nest(path / 2, depth - 1), last = malloc(64);
}

int main(int count, char** arguments) {
  unsigned path;
  for (path = 0; path < 4096; ++path) nest(path, 12);
  puts("done");
  if (count > 1 && strcmp(arguments[1], "signal") == 0) raise(SIGUSR2);
  return 7;
}
