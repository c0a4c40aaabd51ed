// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program to measure: allocates or not, prints, fails, and on demand behaves otherwise under a preload.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// Blocks of many sizes, freed out of order.
std::size_t allocate(int count) {
  std::vector<char*> blocks(64);
  std::size_t sum = 0;
  for (int i = 0; i < count; ++i) {
    char*& block = blocks[static_cast<std::size_t>(i * 37 % 64)];
    std::free(block);
    const auto size = static_cast<std::size_t>(16 + i * 131 % 700);
    block = static_cast<char*>(std::malloc(size));
    std::memset(block, i & 0x7f, size);
    sum += static_cast<std::size_t>(block[size / 2]);
  }
  for (char* block : blocks) std::free(block);
  return sum;
}

std::size_t compute(int count) {
  std::size_t sum = 1;
  for (int i = 0; i < count; ++i) sum = sum * 6364136223846793005U + 1442695040888963407U;
  return sum;
}

bool is_preloaded() {
  const char* const libraries = std::getenv("LD_PRELOAD");
  return libraries != nullptr && *libraries != '\0';
}

}  // namespace

/// try_victim allocate|compute|echo|prints|exits|varies
int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "allocate") std::printf("%zu\n", allocate(50000));
  if (way == "compute") std::printf("%zu\n", compute(2000000));
  if (way == "echo")
    for (int c = 0; (c = std::getchar()) != EOF;) std::putchar(c);
  if (way == "prints") std::puts(is_preloaded() ? "preloaded" : "alone");
  if (way == "exits" && is_preloaded()) return std::fputs("no such luck\n", stderr), 3;
  if (way == "varies") std::printf("%p\n", static_cast<void*>(argv));
  return way == "fails" ? 7 : 0;
}
