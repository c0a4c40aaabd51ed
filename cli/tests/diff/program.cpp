// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program in two builds. In the later one (ASHLAR_LATER) all lines of its sites have moved by two, one of them
// requests more, and one function has made way for another.
#include <cstdlib>

namespace {

void touch_and_free(void* p) {
  static_cast<volatile char*>(p)[0] = 1;
  std::free(p);
}

#ifdef ASHLAR_LATER
constexpr std::size_t middle = 4000;
#line 18
#else
constexpr std::size_t middle = 300;
#endif
[[gnu::noinline]] void parse() {
  touch_and_free(std::malloc(200));
  // between
  touch_and_free(std::malloc(middle));
  // between
  touch_and_free(std::malloc(500));
}

#ifdef ASHLAR_LATER
[[gnu::noinline]] void look_up() { touch_and_free(std::malloc(1000)); }
#else
[[gnu::noinline]] void read_all() { touch_and_free(std::malloc(5000)); }
#define look_up read_all
#endif

}  // namespace

int main() {
  for (int i = 0; i < 10; ++i) {
    parse();
    look_up();
  }
}
