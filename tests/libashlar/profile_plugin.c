/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A plugin that is the same code as another one, under the name of another function. */
#include <stdlib.h>

extern void* volatile last_of_plugin;
void* volatile last_of_plugin;

extern void ALLOCATES(size_t bytes);
void ALLOCATES(size_t bytes) { last_of_plugin = malloc(bytes); }

extern void call(size_t bytes);
void call(size_t bytes) {
  ALLOCATES(bytes);
  last_of_plugin = NULL;
}
