// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that the loader chooses by calling malloc, while it still relocates the program.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/malloc/rule.hpp"

namespace {

constexpr std::size_t small_bytes = 100;
constexpr std::size_t large_bytes = 300'000;
constinit std::uint64_t* small = nullptr;
constinit std::uint64_t* large = nullptr;

int chosen() { return 42; }

void mark(std::uint64_t* block, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof *block; ++i) block[i] = i;
}

void expect_marked(const std::uint64_t* block, std::size_t bytes) {
  malloc_rules::expect(block != nullptr, "no memory for a resolver", bytes);
  for (std::size_t i = 0; i < bytes / sizeof *block; ++i)
    malloc_rules::expect(block[i] == i, "a block of a resolver changed", bytes);
}

}  // namespace

// Neither function may call through a table that is not relocated yet: -fno-plt, and nothing of other libraries but
// malloc.
extern "C" {
__attribute__((visibility("hidden"))) int (*choose_by_malloc())() {
  small = static_cast<std::uint64_t*>(std::malloc(small_bytes));
  large = static_cast<std::uint64_t*>(std::malloc(large_bytes));
  std::free(std::malloc(small_bytes));
  if (small != nullptr) mark(small, small_bytes);
  if (large != nullptr) mark(large, large_bytes);
  return chosen;
}
int chosen_by_malloc() __attribute__((ifunc("choose_by_malloc")));
}

RULE(resolver, by_a_resolver) {
  malloc_rules::expect(chosen_by_malloc() == 42, "the resolver chose nothing");
  expect_marked(small, small_bytes);
  expect_marked(large, large_bytes);
  std::free(small);
  std::free(large);
}
