// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Alignment of blocks: 16 for every size, as glibc gives, and any power of two on request.
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <span>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

constexpr std::size_t largest_alignment = std::size_t{64} << 20;
constexpr std::size_t sizes_on_request[] = {0, 1, 24, 100, 4096, 40'000, (1 << 20) + 1};

// C promises the alignment of any object that fits; glibc and its callers take 16 for granted.
void every_size() {
  for (const std::size_t n : many_sizes()) {
    void* const two[] = {std::malloc(n), std::malloc(n)};
    for (void* p : two) {
      expect(p != nullptr, "malloc failed", n);
      expect(is_aligned(p, alignof(std::max_align_t)), "malloc gave a block that is not aligned", n);
      std::free(p);
    }
  }
}

void every_size_of_calloc_and_realloc() {
  void* grown = nullptr;
  for (const std::size_t n : many_sizes()) {
    void* const p = std::calloc(1, n);
    expect(p != nullptr && is_aligned(p, alignof(std::max_align_t)), "calloc gave a block that is not aligned", n);
    std::free(p);
    if (n == 0) continue;
    grown = std::realloc(grown, n);
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

void by_memalign() { expect_aligned(&::memalign, 1); }
void by_aligned_alloc() { expect_aligned(&std::aligned_alloc, 1); }
void by_posix() { expect_aligned(&by_posix_memalign, sizeof(void*)); }

// glibc's manual: memalign rounds an alignment that is no power of two up.
void no_power_of_two() {
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

void whole_pages() {
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

// Frees of aligned blocks in any order among plain ones.
void mixed() {
  random_numbers random{1};
  struct entry {
    void* block;
    std::size_t bytes;
  };
  entry entries[400] = {};
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t i = random.below(std::size(entries));
    entry& each = entries[i];
    expect(is_filled(each.block, each.bytes, i), "a block changed", each.bytes);
    std::free(each.block);
    const std::size_t alignment = std::size_t{1} << random.below(16);
    each.bytes = random.size(14);
    each.block = random.below(3) == 0 ? std::malloc(each.bytes) : ::memalign(alignment, each.bytes);
    expect(each.block != nullptr, "no block", each.bytes);
    fill(each.block, each.bytes, i);
  }
  for (const entry& each : entries) std::free(each.block);
}

void contents_after_realloc() {
  for (std::size_t alignment = 32; alignment <= (1u << 20); alignment *= 4)
    for (const std::size_t to : {std::size_t{50}, std::size_t{150}, std::size_t{70'000}, std::size_t{3} << 20}) {
      void* p = ::memalign(alignment, 100);
      fill(p, 100, alignment);
      p = std::realloc(p, to);
      expect(p != nullptr && is_filled(p, to < 100 ? to : 100, alignment), "realloc lost an aligned block", alignment);
      std::free(p);
    }
}

constexpr rule rules[] = {
    {"alignment.every_size", every_size},
    {"alignment.every_size_of_calloc_and_realloc", every_size_of_calloc_and_realloc},
    {"alignment.memalign", by_memalign},
    {"alignment.aligned_alloc", by_aligned_alloc},
    {"alignment.posix_memalign", by_posix},
    {"alignment.no_power_of_two", no_power_of_two},
    {"alignment.whole_pages", whole_pages},
    {"alignment.mixed", mixed},
    {"alignment.contents_after_realloc", contents_after_realloc},
};

}  // namespace

std::span<const rule> rules_of_alignment() { return rules; }

}  // namespace malloc_rules
