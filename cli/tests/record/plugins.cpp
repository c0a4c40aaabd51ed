// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, runs and unloads each plugin of its arguments in turn, those behind the word "deep" by RTLD_DEEPBIND. Its
// status is 0 if all of them had one address.
#include <cstddef>
#include <cstring>

#include <dlfcn.h>

int main(int argc, char** argv) {
  using function = void (*)(std::size_t);
  function first = nullptr;
  int others = 0;
  int mode = RTLD_NOW;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "deep") == 0) {
      mode |= RTLD_DEEPBIND;
      continue;
    }
    void* const plugin = dlopen(argv[i], mode);
    if (plugin == nullptr) return 2;
    const auto run = reinterpret_cast<function>(dlsym(plugin, "run_plugin"));
    if (run == nullptr) return 3;
    if (first == nullptr) first = run;
    others += run == first ? 0 : 1;
    run(static_cast<std::size_t>(94'000 + i));
    dlclose(plugin);
  }
  return others == 0 ? 0 : 77;
}
