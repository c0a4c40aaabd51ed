/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile_closed <plugin>:<bytes>...: opens each plugin, which allocates four blocks, and closes it, but for the last.
 * Prints where each was. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int call_plugin(char* plugin, int closes) {
  union {
    void* address;
    void (*function)(size_t bytes);
  } call;
  char* colon = strrchr(plugin, ':');
  void* opened;
  int left;
  if (colon == NULL) return 2;
  *colon = '\0';
  opened = dlopen(plugin, RTLD_NOW);
  if (opened == NULL || (call.address = dlsym(opened, "call")) == NULL) return fputs(dlerror(), stderr), 2;
  for (left = 4; left != 0; --left) call.function(strtoul(colon + 1, NULL, 10));
  printf("%p\n", call.address);
  return closes ? dlclose(opened) : 0;
}

int main(int count, char** arguments) {
  int at;
  for (at = 1; at < count; ++at)
    if (call_plugin(arguments[at], at + 1 < count) != 0) return 2;
  return 0;
}
