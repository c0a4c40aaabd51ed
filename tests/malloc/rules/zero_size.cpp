// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of no bytes: each has an address of its own, as glibc and POSIX programs expect, and can be freed.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

constexpr std::size_t count = 10'000;

template <class F>
void expect_distinct(const char* what, F allocate) {
  static void* blocks[count];
  for (void*& p : blocks) {
    p = allocate();
    expect(p != nullptr, what);
  }
  std::sort(std::begin(blocks), std::end(blocks));
  expect(std::adjacent_find(std::begin(blocks), std::end(blocks)) == std::end(blocks), what, 2);
  for (void* p : blocks) std::free(p);
}

void is_unique() {
  expect_distinct("malloc(0)", [] { return std::malloc(hidden(0)); });
  expect_distinct("calloc(0, 8)", [] { return std::calloc(hidden(0), 8); });
  expect_distinct("calloc(8, 0)", [] { return std::calloc(8, hidden(0)); });
  expect_distinct("realloc(null, 0)", [] { return std::realloc(nullptr, hidden(0)); });
  expect_distinct("memalign(64, 0)", [] { return ::memalign(64, hidden(0)); });
}

void is_unique_among_others() {
  expect_distinct("malloc of 0 to 3 bytes", [n = std::size_t{0}]() mutable { return std::malloc(n++ % 4); });
}

void of_new_is_unique() {
  static void* blocks[count];
  for (void*& p : blocks) p = ::operator new(hidden(0));
  std::sort(std::begin(blocks), std::end(blocks));
  expect(std::adjacent_find(std::begin(blocks), std::end(blocks)) == std::end(blocks), "two new of 0 bytes are equal");
  for (void* p : blocks) ::operator delete(p);
}

void grows() {
  for (int i = 0; i < 1000; ++i) {
    void* p = std::malloc(hidden(0));
    p = std::realloc(p, 1000);
    expect(p != nullptr, "realloc of a block of no bytes failed");
    fill(p, 1000, 1);
    std::free(p);
  }
}

// glibc frees the block and returns null. C allowed a block of no bytes too until C17, but a program that follows glibc
// would leak it.
void of_realloc_frees() {
  for (const std::size_t n : {0u, 1u, 100u, 5000u, 300'000u, 5'000'000u}) {
    void* const p = std::malloc(n);
    expect(std::realloc(p, hidden(0)) == nullptr, "realloc to 0 bytes gave a block", n);
  }
}

constexpr rule rules[] = {
    {"zero_size.is_unique", is_unique},
    {"zero_size.is_unique_among_others", is_unique_among_others},
    {"zero_size.of_new_is_unique", of_new_is_unique},
    {"zero_size.grows", grows},
    {"zero_size.of_realloc_frees", of_realloc_frees},
};

}  // namespace

std::span<const rule> rules_of_zero_size() { return rules; }

}  // namespace malloc_rules
