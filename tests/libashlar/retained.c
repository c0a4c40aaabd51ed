/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* retained <bytes> <share>: frees 64 MiB of touched blocks of that size, calls malloc as a program does that goes on, and
   expects that all of the memory is still resident ("all"), a quarter of it ("quarter", of the option retain=16m), or next
   to nothing ("none"). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

enum { mib = 1 << 20, total = 64 * mib, least_block = 1000 };

static void* blocks[total / least_block];

/* Reads without a buffer of malloc's. */
static size_t resident_bytes(void) {
  static char buffer[4096];
  unsigned long all, resident;
  FILE* const file = fopen("/proc/self/statm", "r");
  EXPECT(file != NULL && setvbuf(file, buffer, _IOFBF, sizeof buffer) == 0);
  EXPECT(fscanf(file, "%lu %lu", &all, &resident) == 2);
  fclose(file);
  return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* On slow paths too, and long enough for decay=20. */
static void go_on(void) {
  static const struct timespec pause = {0, 1000000};
  int i;
  for (i = 0; i < 60; ++i) {
    size_t bytes;
    for (bytes = 40000; bytes < 60000; bytes += 500) free(malloc(bytes));
    nanosleep(&pause, NULL);
  }
}

int main(int count, char** arguments) {
  const size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
  const char* const share = count > 2 ? arguments[2] : "";
  size_t i, before, after, kept;
  EXPECT(bytes >= least_block);
  memset(blocks, 0, sizeof blocks);
  before = resident_bytes();
  for (i = 0; i < total / bytes; ++i) EXPECT((blocks[i] = malloc(bytes)) != NULL && memset(blocks[i], 1, bytes) != NULL);
  EXPECT(resident_bytes() >= before + total / 10 * 9);
  for (i = 0; i < total / bytes; ++i) free(blocks[i]);
  go_on();
  after = resident_bytes();
  kept = after > before ? (after - before) / mib : 0;
  printf("%lu MiB of 64 are resident\n", (unsigned long)kept);
  if (strcmp(share, "all") == 0) EXPECT(kept >= 56);
  else if (strcmp(share, "quarter") == 0) EXPECT(kept >= 8 && kept <= 24);
  else EXPECT(kept <= 8);
  return 0;
}
