// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plugin of three, which the loader puts at one address, one after the other; or a library that allocates in its
// constructor, which runs before the constructors of preloaded libraries. RECORD_PLUGIN is the name of a function.
#include <cstdlib>

namespace {

void* volatile escape;

}  // namespace

[[gnu::noinline]] void RECORD_PLUGIN(std::size_t bytes) {
  escape = std::malloc(bytes);
  std::free(escape);
}

extern "C" void run_plugin(std::size_t bytes) {
  for (int i = 0; i < 1'000; ++i) RECORD_PLUGIN(bytes);
}

#ifdef RECORD_EARLY
[[gnu::constructor]] static void on_load() { run_plugin(93'001); }
#endif
