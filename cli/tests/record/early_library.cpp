// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that allocates in its constructor, which runs before the constructors of preloaded libraries.
#include <cstdlib>

namespace {

void* volatile escape;

[[gnu::noinline]] void* early_block() {
  escape = std::malloc(93'001);
  return escape;
}

[[gnu::constructor]] void on_load() {
  for (int i = 0; i < 1'000; ++i) std::free(early_block());
}

}  // namespace
