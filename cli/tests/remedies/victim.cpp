// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that spends its time in malloc, at two sites that a pool serves: red cells often, blue ones half as often.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

unsigned seed = 7;

std::size_t random_below(std::size_t n) {
  seed = seed * 1664525U + 1013904223U;
  return (seed >> 8) % n;
}

/// Not by a tail call, which leaves no frame.
[[gnu::noinline]] char* red_cell() {
  auto* p = static_cast<char*>(std::malloc(48));
  if (p != nullptr) p[0] = 1;
  return p;
}

[[gnu::noinline]] char* blue_cell() {
  auto* p = static_cast<char*>(std::malloc(80));
  if (p != nullptr) p[0] = 2;
  return p;
}

}  // namespace

/// slow_victim [input|dies]: "input" prints the number of bytes of standard input too; "dies" fails where it is routed.
int main(int argc, char** argv) {
  static std::array<char*, 8000> red{}, blue{};
  std::size_t sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    char*& r = red[random_below(red.size())];
    std::free(r);
    sum += static_cast<std::size_t>((r = red_cell())[0]);
    if (i % 2 != 0) continue;
    char*& b = blue[random_below(blue.size())];
    std::free(b);
    sum += static_cast<std::size_t>((b = blue_cell())[0]);
  }
  if (argc > 1 && std::strcmp(argv[1], "dies") == 0 && std::getenv("ASHLAR_ROUTE") != nullptr) return 9;
  if (argc > 1 && std::strcmp(argv[1], "input") == 0)
    while (std::getchar() != EOF) ++sum;
  std::printf("%zu\n", sum);
}
