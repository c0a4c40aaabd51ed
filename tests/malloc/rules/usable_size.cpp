// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// malloc_usable_size: at least the size, all of it writable, the same until the block is freed.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <span>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

void of_null() { expect(::malloc_usable_size(nullptr) == 0, "null has a usable size"); }

void of_every_size() {
  for (const std::size_t n : many_sizes()) {
    void* const p = std::malloc(n);
    expect(::malloc_usable_size(p) >= n, "the usable size is less than the size", n);
    std::free(p);
  }
}

/// A block of 0 bytes may have a usable size of 0.
void is_writable() {
  constexpr std::size_t count = 8;
  for (const std::size_t n : many_sizes()) {
    if (n > (1 << 20)) break;
    void* blocks[count];
    std::size_t usable[count];
    for (std::size_t i = 0; i < count; ++i) {
      blocks[i] = std::malloc(n);
      usable[i] = ::malloc_usable_size(blocks[i]);
      fill(blocks[i], usable[i], i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      expect(is_filled(blocks[i], usable[i], i), "usable bytes of two blocks overlap", n);
      expect(::malloc_usable_size(blocks[i]) == usable[i], "the usable size changed", n);
      std::free(blocks[i]);
    }
  }
}

void is_kept_by_realloc() {
  for (const std::size_t n : {1u, 24u, 100u, 1000u, 5000u, 70'000u, 3'000'000u}) {
    void* p = std::malloc(n);
    const std::size_t usable = ::malloc_usable_size(p);
    fill(p, usable, n);
    p = std::realloc(p, 2 * usable);
    expect(is_filled(p, n, n), "realloc lost contents", n);
    expect(::malloc_usable_size(p) >= 2 * usable, "realloc gave too little", n);
    std::free(p);
  }
}

void of_aligned_blocks() {
  for (std::size_t alignment = 16; alignment <= (4 << 20); alignment *= 4)
    for (const std::size_t n : {0u, 1u, 100u, 5000u, 70'000u}) {
      void* const two[] = {::memalign(alignment, n), ::memalign(alignment, n)};
      const std::size_t usable[] = {::malloc_usable_size(two[0]), ::malloc_usable_size(two[1])};
      expect(usable[0] >= n && usable[1] >= n, "the usable size is less than the size", alignment);
      fill(two[0], usable[0], 0);
      fill(two[1], usable[1], 1);
      expect(is_filled(two[0], usable[0], 0), "usable bytes of two blocks overlap", alignment);
      std::free(two[0]);
      std::free(two[1]);
    }
}

constexpr rule rules[] = {
    {"usable_size.of_null", of_null},
    {"usable_size.of_every_size", of_every_size},
    {"usable_size.is_writable", is_writable},
    {"usable_size.is_kept_by_realloc", is_kept_by_realloc},
    {"usable_size.of_aligned_blocks", of_aligned_blocks},
};

}  // namespace

std::span<const rule> rules_of_usable_size() { return rules; }

}  // namespace malloc_rules
