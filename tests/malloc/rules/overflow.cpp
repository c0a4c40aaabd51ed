// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that no block can have: more than PTRDIFF_MAX, products that wrap, sizes that wrap where they are rounded up.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

void beyond_ptrdiff_max() {
  const std::size_t base = std::size_t{PTRDIFF_MAX} + 1;
  for (std::size_t more = 0; more < 100; ++more)
    expect(std::malloc(hidden(base + more)) == nullptr, "malloc gave more than PTRDIFF_MAX", more);
  expect(std::malloc(hidden(std::size_t{PTRDIFF_MAX})) == nullptr, "malloc gave half of the address space");
}

void just_below_size_max() {
  for (std::size_t less = 0; less < (8 << 20); less += less < 10'000 ? 1 : 4093) {
    const std::size_t n = hidden(SIZE_MAX - less);
    expect(std::malloc(n) == nullptr, "malloc: a size wrapped", less);
    expect(std::calloc(1, n) == nullptr, "calloc: a size wrapped", less);
    expect(std::realloc(nullptr, n) == nullptr, "realloc: a size wrapped", less);
    expect(::pvalloc(n) == nullptr, "pvalloc: a size wrapped", less);
    expect(::valloc(n) == nullptr, "valloc: a size wrapped", less);
  }
}

void of_aligned_sizes() {
  for (std::size_t alignment = 16; alignment <= (std::size_t{1} << 62); alignment *= 2)
    for (const std::size_t n : {SIZE_MAX, SIZE_MAX - alignment, SIZE_MAX - alignment + 1, SIZE_MAX - 2 * alignment,
                                SIZE_MAX - 4096, std::size_t{PTRDIFF_MAX} + 1}) {
      if (n <= PTRDIFF_MAX) continue;
      expect(::memalign(alignment, hidden(n)) == nullptr, "memalign: a size wrapped", alignment);
      void* p = nullptr;
      expect(::posix_memalign(&p, alignment, hidden(n)) != 0, "posix_memalign: a size wrapped", alignment);
    }
}

// An alignment of half the address space leaves no place for a block but at 0 and in the middle.
void of_huge_alignments() {
  expect(::memalign(hidden(std::size_t{1} << 63), 1) == nullptr, "memalign gave an alignment of 2^63");
  expect(::memalign(hidden(std::size_t{1} << 62), 1) == nullptr, "memalign gave an alignment of 2^62");
  expect(::memalign(hidden(SIZE_MAX), 1) == nullptr, "memalign gave an alignment of SIZE_MAX");
}

struct product {
  std::size_t count;
  std::size_t bytes;
};
constexpr std::size_t root = std::size_t{1} << 32;
constexpr product wrapping[] = {
    {root, root},          {root + 1, root},         {SIZE_MAX, 2},     {2, SIZE_MAX},
    {SIZE_MAX / 2, 3},     {SIZE_MAX / 16 + 2, 16},  {3, SIZE_MAX / 2}, {SIZE_MAX, SIZE_MAX},
    {SIZE_MAX / 3 + 1, 3}, {root * 2, root / 2 + 1},
};

void of_calloc() {
  for (const auto& [count, bytes] : wrapping)
    expect(std::calloc(hidden(count), hidden(bytes)) == nullptr, "calloc: a product wrapped", count);
}

void of_reallocarray() {
  for (const auto& [count, bytes] : wrapping) {
    void* const p = std::malloc(100);
    fill(p, 100, count);
    expect(::reallocarray(p, hidden(count), hidden(bytes)) == nullptr, "reallocarray: a product wrapped", count);
    expect(is_filled(p, 100, count), "a reallocarray that failed changed the block", count);
    std::free(p);
    expect(::reallocarray(nullptr, hidden(count), hidden(bytes)) == nullptr, "reallocarray: a product wrapped", count);
  }
}

constexpr rule rules[] = {
    {"overflow.beyond_ptrdiff_max", beyond_ptrdiff_max},
    {"overflow.just_below_size_max", just_below_size_max},
    {"overflow.of_aligned_sizes", of_aligned_sizes},
    {"overflow.of_huge_alignments", of_huge_alignments},
    {"overflow.of_calloc", of_calloc},
    {"overflow.of_reallocarray", of_reallocarray},
};

}  // namespace

std::span<const rule> rules_of_overflow() { return rules; }

}  // namespace malloc_rules
