// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of blocks and their alignment: usable bytes, no bytes, more bytes than there are.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

// ---- Alignment of blocks: 16 for every size, as glibc gives, and any power of two on request.
constexpr std::size_t largest_alignment = std::size_t{64} << 20;
constexpr std::size_t sizes_on_request[] = {0, 1, 24, 100, 4096, 40'000, (1 << 20) + 1};

// C promises the alignment of any object that fits; glibc and its callers take 16 for granted.
RULE(alignment, every_size) {
  void* grown = nullptr;
  for (const std::size_t n : many_sizes()) {
    void* const three[] = {std::malloc(n), std::malloc(n), std::calloc(1, n)};
    for (void* p : three) {
      expect(p != nullptr, "malloc or calloc failed", n);
      expect(is_aligned(p, alignof(std::max_align_t)), "malloc or calloc gave a block that is not aligned", n);
      std::free(p);
    }
    grown = std::realloc(grown, n + 1);
    expect(is_aligned(grown, alignof(std::max_align_t)), "realloc gave a block that is not aligned", n);
  }
  std::free(grown);
}

using aligned_function = void*(std::size_t alignment, std::size_t bytes);

void* by_posix_memalign(std::size_t alignment, std::size_t bytes) {
  void* p = nullptr;
  expect(::posix_memalign(&p, alignment, bytes) == 0, "posix_memalign failed", alignment);
  return p;
}

/// Effects: three blocks of each size at each alignment live at once, written to their ends, and leave in another
/// order.
void expect_aligned(aligned_function* function, std::size_t least) {
  for (std::size_t alignment = least; alignment <= largest_alignment; alignment *= 2)
    for (const std::size_t n : sizes_on_request) {
      void* three[3] = {};
      for (std::size_t i = 0; i < 3; ++i) {
        three[i] = function(alignment, n);
        expect(three[i] != nullptr && is_aligned(three[i], alignment), "a block is not aligned as asked", alignment);
        fill(three[i], n, i);
      }
      for (const std::size_t i : {1u, 0u, 2u}) {
        expect(is_filled(three[i], n, i), "two aligned blocks overlap", alignment);
        std::free(three[i]);
      }
    }
}

RULE(alignment, memalign) { expect_aligned(&::memalign, 1); }
RULE(alignment, aligned_alloc) { expect_aligned(&std::aligned_alloc, 1); }
RULE(alignment, posix_memalign) { expect_aligned(&by_posix_memalign, sizeof(void*)); }

// glibc's manual: memalign rounds an alignment that is no power of two up.
RULE(alignment, no_power_of_two) {
  for (const std::size_t alignment : {3u, 24u, 48u, 100u, 5000u}) {
    void* const p = ::memalign(hidden(alignment), 100);
    expect(p != nullptr, "memalign refused an alignment that glibc rounds up", alignment);
    std::size_t power = 1;
    while (power < alignment) power *= 2;
    expect(is_aligned(p, power), "memalign did not round the alignment up", alignment);
    std::free(p);
    std::free(std::aligned_alloc(hidden(alignment), 100));  // may be refused, but must return
  }
  std::free(::memalign(hidden(0), 100));
}

RULE(alignment, whole_pages) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, page - 1, page, page + 1, 100 * page}) {
    void* const p = ::valloc(n);
    expect(p != nullptr && is_aligned(p, page), "valloc gave no page", n);
    void* const rounded = ::pvalloc(n);
    expect(rounded != nullptr && is_aligned(rounded, page), "pvalloc gave no page", n);
    const std::size_t bytes = (n + page - 1) / page * page;
    expect(::malloc_usable_size(rounded) >= bytes, "pvalloc did not round up", n);
    fill(rounded, bytes, n);
    std::free(p);
    expect(is_filled(rounded, bytes, n), "a block of valloc and one of pvalloc overlap", n);
    std::free(rounded);
  }
}

RULE(alignment, contents_after_realloc) {
  for (std::size_t alignment = 32; alignment <= (1u << 20); alignment *= 4)
    for (const std::size_t to : {std::size_t{50}, std::size_t{150}, std::size_t{70'000}, std::size_t{3} << 20}) {
      void* p = ::memalign(alignment, 100);
      fill(p, 100, alignment);
      p = std::realloc(p, to);
      expect(p != nullptr && is_filled(p, to < 100 ? to : 100, alignment), "realloc lost an aligned block", alignment);
      std::free(p);
    }
}

// ---- malloc_usable_size: at least the size, all of it writable, the same until the block is freed.
RULE(usable_size, of_null) { expect(::malloc_usable_size(nullptr) == 0, "null has a usable size"); }

RULE(usable_size, of_every_size) {
  for (const std::size_t n : many_sizes()) {
    void* const p = std::malloc(n);
    expect(::malloc_usable_size(p) >= n, "the usable size is less than the size", n);
    std::free(p);
  }
}

/// A block of 0 bytes may have a usable size of 0.
RULE(usable_size, is_writable) {
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

RULE(usable_size, of_aligned_blocks) {
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

// ---- Blocks of no bytes: each has an address of its own, as glibc and POSIX programs expect, and can be freed.
template <class F>
void expect_distinct(const char* what, F allocate, void (*release)(void*) = std::free) {
  static void* blocks[10'000];
  for (void*& p : blocks) {
    p = allocate();
    expect(p != nullptr, what);
  }
  std::sort(std::begin(blocks), std::end(blocks));
  expect(std::adjacent_find(std::begin(blocks), std::end(blocks)) == std::end(blocks), what, 2);
  for (void* p : blocks) release(p);
}

RULE(zero_size, is_unique) {
  expect_distinct("malloc(0)", [] { return std::malloc(hidden(0)); });
  expect_distinct("calloc(0, 8)", [] { return std::calloc(hidden(0), 8); });
  expect_distinct("calloc(8, 0)", [] { return std::calloc(8, hidden(0)); });
  expect_distinct("realloc(null, 0)", [] { return std::realloc(nullptr, hidden(0)); });
  expect_distinct("memalign(64, 0)", [] { return ::memalign(64, hidden(0)); });
  expect_distinct("malloc of 0 to 3 bytes", [n = std::size_t{0}]() mutable { return std::malloc(n++ % 4); });
  expect_distinct("new of 0 bytes", [] { return ::operator new(hidden(0)); }, ::operator delete);
}

RULE(zero_size, grows) {
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
RULE(zero_size, of_realloc_frees) {
  for (const std::size_t n : {0u, 1u, 100u, 5000u, 300'000u, 5'000'000u}) {
    void* const p = std::malloc(n);
    expect(std::realloc(p, hidden(0)) == nullptr, "realloc to 0 bytes gave a block", n);
  }
}

// ---- Sizes that no block can have: more than PTRDIFF_MAX, products that wrap, sizes that wrap when rounded up.
RULE(overflow, beyond_ptrdiff_max) {
  const std::size_t base = std::size_t{PTRDIFF_MAX} + 1;
  for (std::size_t more = 0; more < 100; ++more)
    expect(std::malloc(hidden(base + more)) == nullptr, "malloc gave more than PTRDIFF_MAX", more);
  expect(std::malloc(hidden(std::size_t{PTRDIFF_MAX})) == nullptr, "malloc gave half of the address space");
}

RULE(overflow, just_below_size_max) {
  for (std::size_t less = 0; less < (8 << 20); less += less < 10'000 ? 1 : 4093) {
    const std::size_t n = hidden(SIZE_MAX - less);
    expect(std::malloc(n) == nullptr, "malloc: a size wrapped", less);
    expect(std::calloc(1, n) == nullptr, "calloc: a size wrapped", less);
    expect(std::realloc(nullptr, n) == nullptr, "realloc: a size wrapped", less);
    expect(::pvalloc(n) == nullptr, "pvalloc: a size wrapped", less);
    expect(::valloc(n) == nullptr, "valloc: a size wrapped", less);
  }
}

RULE(overflow, of_aligned_sizes) {
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
RULE(overflow, of_huge_alignments) {
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

RULE(overflow, of_calloc) {
  for (const auto& [count, bytes] : wrapping)
    expect(std::calloc(hidden(count), hidden(bytes)) == nullptr, "calloc: a product wrapped", count);
}

RULE(overflow, of_reallocarray) {
  for (const auto& [count, bytes] : wrapping) {
    void* const p = std::malloc(100);
    fill(p, 100, count);
    expect(::reallocarray(p, hidden(count), hidden(bytes)) == nullptr, "reallocarray: a product wrapped", count);
    expect(is_filled(p, 100, count), "a reallocarray that failed changed the block", count);
    std::free(p);
    expect(::reallocarray(nullptr, hidden(count), hidden(bytes)) == nullptr, "reallocarray: a product wrapped", count);
  }
}

}  // namespace

}  // namespace malloc_rules
