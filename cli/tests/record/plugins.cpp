// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, runs and unloads each plugin of its arguments in turn. Its status is 0 if all of them had one address.
#include <cstddef>

#include <dlfcn.h>

int main(int argc, char** argv) {
  using function = void (*)(std::size_t);
  function first = nullptr;
  int others = 0;
  for (int i = 1; i < argc; ++i) {
    void* const plugin = dlopen(argv[i], RTLD_NOW);
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
