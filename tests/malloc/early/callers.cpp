// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Callers of malloc before main: a resolver of the loader, preinit_array, constructors of the first priority.
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/malloc/early/early.hpp"
#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

constexpr std::size_t sizes[] = {1, 24, 700, 9000, 100'000, 5'000'000};
constexpr std::size_t sizes_of_handlers[] = {1, 24, 700, 9000, 300'000};
constexpr std::size_t marked_bytes = 64;

/// A block of each size that an early caller keeps until main.
struct kept_blocks {
  void* blocks[std::size(sizes)];
  bool is_made;

  void make() {
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      blocks[i] = i % 2 == 0 ? std::malloc(sizes[i]) : std::calloc(1, sizes[i]);
      expect(blocks[i] != nullptr, "no memory for an early caller", sizes[i]);
      fill(blocks[i], sizes[i], i);
    }
    is_made = true;
  }
  void free() {
    expect(is_made, "an early caller was not called");
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      expect(is_filled(blocks[i], sizes[i], i), "a block of an early caller changed", sizes[i]);
      std::free(blocks[i]);
    }
  }
};

constinit kept_blocks of_preinit{};
constinit kept_blocks of_first_constructor{};
constinit kept_blocks of_static_object{};
constinit kept_blocks of_freed_early{};

counts* shared;

void before_constructors(int, char**, char**) {
  void* const page = ::mmap(nullptr, sizeof(counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared = ::new (page) counts{};
  use_malloc();
  of_preinit.make();
  of_freed_early.make();
  register_first_fork_handlers();
}
__attribute__((section(".preinit_array"), used)) void (*const preinit)(int, char**, char**) = before_constructors;

__attribute__((constructor(101))) void first_constructor() {
  use_malloc();
  of_freed_early.free();
  of_first_constructor.make();
  register_exit_handlers();
  register_other_fork_handlers();
}

struct static_object {
  std::string text = std::string(1000, 's');
  static_object() { of_static_object.make(); }
  ~static_object() {
    expect(text == std::string(1000, 's'), "a static object changed");
    use_malloc();
    ++counted().static_destructors;
  }
};
static_object object;

RULE(early_callers, by_preinit_array) { of_preinit.free(); }
RULE(early_callers, by_the_first_constructor) { of_first_constructor.free(); }
RULE(early_callers, by_a_static_object) { of_static_object.free(); }

}  // namespace

counts& counted() { return *shared; }

void use_malloc() {
  for (const std::size_t n : sizes_of_handlers) {
    const std::size_t marked = std::min(n, marked_bytes);
    void* p = std::malloc(n);
    expect(p != nullptr, "malloc failed", n);
    fill(p, marked, n);
    p = std::realloc(p, n + n / 2);
    expect(p != nullptr && is_filled(p, marked, n), "realloc failed", n);
    std::free(p);
    void* const zero = std::calloc(3, n);
    expect(zero != nullptr && is_zero(zero, marked), "calloc failed", n);
    std::free(zero);
    void* const aligned = ::memalign(512, n);
    expect(aligned != nullptr && is_aligned(aligned, 512), "memalign failed", n);
    std::free(aligned);
    ::operator delete(::operator new(n));
  }
}

}  // namespace malloc_rules
