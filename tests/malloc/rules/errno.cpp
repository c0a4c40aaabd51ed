// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// errno: free keeps it (POSIX.1-2024, glibc since 2.33), failures set ENOMEM.
#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <thread>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

constexpr int kept = 4711;
constexpr std::size_t sizes[] = {0, 1, 16, 100, 1024, 40'000, 1 << 20, 5 << 20, 64 << 20};

void free_with_errno(void* p, std::size_t n) {
  errno = kept;
  std::free(p);
  expect(errno == kept, "free changed errno", n);
}

void kept_by_free() {
  free_with_errno(nullptr, 0);
  for (const std::size_t n : sizes) {
    void* blocks[40];
    const std::size_t count = n > 100'000 ? 3 : 40;
    for (std::size_t i = 0; i < count; ++i) blocks[i] = std::malloc(n);
    for (std::size_t i = 0; i < count; ++i) free_with_errno(blocks[i], n);
  }
}

void kept_by_free_of_another_thread() {
  for (const std::size_t n : sizes) {
    void* const p = std::malloc(n);
    std::thread{[=] { free_with_errno(p, n); }}.join();
  }
}

void kept_by_the_free_that_unmaps() {
  void* blocks[64];
  for (void*& p : blocks) fill(p = std::malloc(1 << 20), 1 << 20, 0);
  for (void* p : blocks) free_with_errno(p, 1 << 20);
}

template <class F>
void expect_enomem(const char* what, F f) {
  errno = 0;
  void* const p = f();
  expect(p == nullptr, what, 1);
  expect(errno == ENOMEM, what, static_cast<std::size_t>(errno));
}

void set_by_failures() {
  const std::size_t excess = hidden(std::size_t{PTRDIFF_MAX} + 1);
  expect_enomem("malloc", [=] { return std::malloc(excess); });
  expect_enomem("calloc", [=] { return std::calloc(1, excess); });
  expect_enomem("calloc of a product that wraps", [=] { return std::calloc(excess, 2); });
  expect_enomem("realloc of null", [=] { return std::realloc(nullptr, excess); });
  expect_enomem("reallocarray of null", [=] { return ::reallocarray(nullptr, excess, 2); });
  expect_enomem("aligned_alloc", [=] { return std::aligned_alloc(64, excess); });
  expect_enomem("memalign", [=] { return ::memalign(64, excess); });
  expect_enomem("valloc", [=] { return ::valloc(excess); });
  expect_enomem("pvalloc", [=] { return ::pvalloc(excess); });
}

void set_by_realloc_of_a_block() {
  const std::size_t excess = hidden(std::size_t{PTRDIFF_MAX} + 1);
  for (const std::size_t n : sizes) {
    void* const p = std::malloc(n);
    fill(p, n, n);
    expect_enomem("realloc", [=] { return std::realloc(p, excess); });
    expect_enomem("reallocarray", [=] { return ::reallocarray(p, excess, 4); });
    expect(is_filled(p, n, n), "a realloc that failed changed the block", n);
    std::free(p);
  }
}

// POSIX: the result is the error. Linux: the pointer is left as it is.
void of_posix_memalign() {
  int here = 0;
  void* const before = &here;
  void* p = before;
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{24}, SIZE_MAX}) {
    expect(::posix_memalign(&p, hidden(alignment), 8) == EINVAL, "posix_memalign accepts an alignment", alignment);
    expect(p == before, "posix_memalign changed the pointer", alignment);
  }
  for (const std::size_t n : {std::size_t{PTRDIFF_MAX} + 1, SIZE_MAX}) {
    expect(::posix_memalign(&p, 64, hidden(n)) == ENOMEM, "posix_memalign gave memory", n);
    expect(p == before, "posix_memalign changed the pointer", n);
  }
}

constexpr rule rules[] = {
    {"errno.kept_by_free", kept_by_free},
    {"errno.kept_by_free_of_another_thread", kept_by_free_of_another_thread},
    {"errno.kept_by_the_free_that_unmaps", kept_by_the_free_that_unmaps},
    {"errno.set_by_failures", set_by_failures},
    {"errno.set_by_realloc_of_a_block", set_by_realloc_of_a_block},
    {"errno.of_posix_memalign", of_posix_memalign},
};

}  // namespace

std::span<const rule> rules_of_errno() { return rules; }

}  // namespace malloc_rules
