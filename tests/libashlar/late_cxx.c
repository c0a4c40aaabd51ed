/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program in C, without the C++ library. Its argument is a module in C++, to be opened while it runs: operator new of
   too much throws there. Without an argument it calls operator new itself, where nothing can throw. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static void* function(void* library, const char* name) {
  void* const found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL) fprintf(stderr, "%s\n", dlerror());
  return found;
}

int main(int count, char** arguments) {
  _Bool (*catches_bad_alloc)(size_t);
  void* (*operator_new)(size_t);
  if (count > 1) {
    *(void**)&catches_bad_alloc = function(dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL), "catches_bad_alloc");
    return catches_bad_alloc != NULL && catches_bad_alloc(PTRDIFF_MAX) ? 0 : 1;
  }
  *(void**)&operator_new = function(dlopen(NULL, RTLD_NOW), "_Znwm");
  return operator_new != NULL && operator_new(PTRDIFF_MAX) != NULL ? 2 : 3;
}
