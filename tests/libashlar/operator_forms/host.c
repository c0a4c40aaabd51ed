/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program in C: its argument is a module to be opened, which calls the forms; the module is not to be seen by others. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  int (*call)(void) = 0;
  void* const module = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : 0;
  if (module != 0) *(void**)&call = dlsym(module, "call_operator_forms");
  if (call == 0) return fprintf(stderr, "%s\n", dlerror()), 1;
  return call();
}
