/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program with the four functions of malloc that glibc asks for of a malloc in the program: all others that take a
   block call these. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libashlar/expect.h"

void* reallocarray(void* p, size_t count, size_t each);
__attribute__((weak)) void free_sized(void* p, size_t bytes);
__attribute__((weak)) void free_aligned_sized(void* p, size_t alignment, size_t bytes);

struct header {
  const struct header* self;
  size_t bytes;
};

static struct header arena[1 << 16];
static size_t used, live;

static struct header* header_of(void* p) {
  struct header* const head = (struct header*)p - 1;
  if (head < arena || head >= arena + used || head->self != head) abort();
  return head;
}

void* malloc(size_t bytes) {
  struct header* const head = arena + used;
  if (bytes > (sizeof arena / sizeof *arena - used) * sizeof *arena / 2) return NULL;
  used += 1 + (bytes + sizeof *head - 1) / sizeof *head;
  head->self = head;
  head->bytes = bytes;
  ++live;
  return head + 1;
}

void free(void* p) {
  if (p == NULL) return;
  header_of(p)->self = NULL;
  --live;
}

void* calloc(size_t count, size_t each) { return malloc(count * each); }  /* never reused */

void* realloc(void* p, size_t bytes) {
  void* const moved = malloc(bytes);
  if (p == NULL || moved == NULL) return moved;
  memcpy(moved, p, header_of(p)->bytes < bytes ? header_of(p)->bytes : bytes);
  free(p);
  return moved;
}

int main(void) {
  const size_t before = live;
  char* p = reallocarray(NULL, 10, 10);
  strcpy(p, "numbers");
  p = reallocarray(p, 100, 30);
  EXPECT(strcmp(p, "numbers") == 0 && header_of(p)->bytes == 3000);
  EXPECT(reallocarray(p, SIZE_MAX / 2, 3) == NULL);
  p = realloc(p, 20);
  free_sized != NULL ? free_sized(p, 20) : free(p);
  p = malloc(30);
  free_aligned_sized != NULL ? free_aligned_sized(p, 16, 30) : free(p);
  EXPECT(live == before);
  return 0;
}
