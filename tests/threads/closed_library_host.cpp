// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens and closes a library over and over: the free memory of its pools goes with it.
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "tests/support/loader.hpp"

namespace {

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "closed_library_host: not so: %s\n", what);
  std::_Exit(1);
}

[[nodiscard]] long mapped_kib() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  expect(file != nullptr && std::fscanf(file, "%ld", &pages) == 1, "the system tells the address space");
  std::fclose(file);
  return pages * (::sysconf(_SC_PAGESIZE) / 1024);
}

void open_use_and_close(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "the library opens");
  const auto work = reinterpret_cast<void (*)()>(::dlsym(library, "ashlar_library_work"));
  expect(work != nullptr, "the library has its function");
  work();
  expect(::dlclose(library) == 0, "the library closes");
  if (::dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr) return;
  std::puts("skipped: a closed library stays loaded here");
  std::exit(77);
}

}  // namespace

int main(int, char** arguments) {
  ashlar_test::skip_without_loader();
  const char* const path = arguments[1];
  open_use_and_close(path);
  const long before = mapped_kib();
  for (int i = 0; i < 30; ++i) open_use_and_close(path);
  expect(mapped_kib() - before < 4096, "a closed library leaves no free memory behind");
  return 0;
}
