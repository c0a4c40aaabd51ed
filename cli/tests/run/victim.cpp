// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program for `ashlar run`: prints the file of its malloc and its environment, or ends in a given way.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace {

const char* or_empty(const char* text) { return text == nullptr ? "" : text; }

int print_malloc() {
  Dl_info provider{};
  if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &provider) == 0) return 1;
  const char* const slash = std::strrchr(provider.dli_fname, '/');
  std::printf("malloc: %s\n", slash == nullptr ? provider.dli_fname : slash + 1);
  std::printf("LD_PRELOAD: %s\n", or_empty(std::getenv("LD_PRELOAD")));
  std::printf("ASHLAR: %s\n", or_empty(std::getenv("ASHLAR")));
  return 0;
}

}  // namespace

/// run_victim [exit N | signal N]
int main(int argc, char** argv) {
  if (argc < 3) return print_malloc();
  if (std::strcmp(argv[1], "signal") == 0) std::raise(std::atoi(argv[2]));
  return std::atoi(argv[2]);
}
