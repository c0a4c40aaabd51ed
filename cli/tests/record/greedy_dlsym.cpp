// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preloaded beside the recorder: a dlsym that allocates before it returns, as in some C libraries.
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <dlfcn.h>

extern "C" void* dlsym(void* handle, const char* name) noexcept {
  using dlsym_function = void* (*)(void*, const char*);
  static dlsym_function next = nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
    if (next == nullptr) next = reinterpret_cast<dlsym_function>(dlvsym(RTLD_NEXT, "dlsym", version));
  char* const zeros = static_cast<char*>(calloc(3, 33));
  for (int i = 0; zeros != nullptr && i < 99; ++i)
    if (zeros[i] != 0) abort();
  char* const grown = static_cast<char*>(realloc(zeros, 200));
  if (grown == nullptr) abort();
  std::memset(grown, 1, 200);
  void* const found = next(handle, name);
  free(grown);
  return found;
}
