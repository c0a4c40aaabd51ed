// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contents of blocks: zeros of calloc, and what realloc keeps.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

// ---- calloc: memory is zero however dirty it was.
constexpr std::size_t most = 64;

std::size_t count_for(std::size_t n) { return n > 100'000 ? 4 : most; }

void expect_zero_blocks(std::size_t n, std::size_t members) {
  void* blocks[most];
  for (std::size_t i = 0; i < count_for(n); ++i) {
    blocks[i] = std::calloc(members, n / members);
    expect(blocks[i] != nullptr, "calloc failed", n);
    expect(is_zero(blocks[i], n / members * members), "calloc gave dirty memory", n);
    std::memset(blocks[i], 0x5A, n / members * members);
  }
  for (std::size_t i = 0; i < count_for(n); ++i) std::free(blocks[i]);
}

void make_dirty(std::size_t n) {
  void* blocks[most];
  for (std::size_t i = 0; i < count_for(n); ++i) {
    blocks[i] = std::malloc(n);
    std::memset(blocks[i], 0xA5, ::malloc_usable_size(blocks[i]));
  }
  for (std::size_t i = 0; i < count_for(n); ++i) std::free(blocks[i]);
}

RULE(zero, of_every_size) {
  for (const std::size_t n : many_sizes()) {
    make_dirty(n);
    expect_zero_blocks(n, 1);
  }
}

RULE(zero, of_members) {
  for (const std::size_t n : {64u, 1000u, 5000u, 100'000u, 2'000'000u})
    for (const std::size_t members : {2u, 7u, 50u}) {
      make_dirty(n);
      expect_zero_blocks(n, members);
    }
}

RULE(zero, of_memory_from_another_thread) {
  for (const std::size_t n : {16u, 100u, 1024u, 30'000u, 300'000u, 5'000'000u}) {
    std::thread{[=] { make_dirty(n); }}.join();
    expect_zero_blocks(n, 1);
    make_dirty(n);
    std::thread{[=] { expect_zero_blocks(n, 1); }}.join();
  }
}

RULE(zero, of_memory_that_was_trimmed) {
  for (int round = 0; round < 20; ++round) {
    for (const std::size_t n : {100u, 4096u, 70'000u, 2'000'000u}) {
      make_dirty(n);
      ::malloc_trim(0);
      expect_zero_blocks(n, 1);
    }
  }
}

RULE(zero, of_memory_that_realloc_left) {
  for (const std::size_t n : {100u, 2000u, 70'000u, 3'000'000u, 20'000'000u}) {
    void* p = std::malloc(n);
    std::memset(p, 0x77, n);
    p = std::realloc(p, n / 3);
    void* const zero = std::calloc(1, n);
    expect(is_zero(zero, n), "calloc gave what realloc had left", n);
    std::free(zero);
    std::free(p);
    expect_zero_blocks(n, 1);
  }
}

// ---- realloc and reallocarray: contents, in both directions and up to 200 MiB.
RULE(realloc, of_null_and_to_the_same_size) {
  for (const std::size_t n : many_sizes()) {
    void* p = std::realloc(nullptr, n);
    expect(p != nullptr, "realloc of null failed", n);
    fill(p, n, n);
    if (n != 0) p = std::realloc(p, n);
    expect(p != nullptr && is_filled(p, n, n), "realloc to the same size lost contents", n);
    std::free(p);
  }
}

RULE(realloc, keeps_contents) {
  struct entry {
    void* block;
    std::size_t bytes;
  };
  static entry entries[500];
  random_numbers random{3};
  for (std::uint64_t round = 0; round < 60'000; ++round) {
    entry& each = entries[random.below(std::size(entries))];
    const auto seed = static_cast<std::uint64_t>(&each - entries);
    const std::size_t to = 1 + random.size(round % 50 == 0 ? 21 : 13);
    void* const moved = std::realloc(each.block, to);
    expect(moved != nullptr, "realloc failed", to);
    expect(is_filled(moved, std::min(each.bytes, to), seed), "realloc lost contents", to);
    expect(::malloc_usable_size(moved) >= to, "realloc gave too little", to);
    fill(moved, to, seed);
    each = {moved, to};
  }
  for (const entry& each : entries) std::free(each.block);
}

RULE(realloc, by_one_byte) {
  char* p = nullptr;
  for (std::size_t n = 1; n < 20'000; ++n) {
    p = static_cast<char*>(std::realloc(p, n));
    p[n - 1] = static_cast<char>(n);
  }
  for (std::size_t n = 19'999; n > 0; --n) {
    expect(p[n - 1] == static_cast<char>(n), "realloc lost a byte", n);
    p = static_cast<char*>(std::realloc(p, n));
  }
  std::free(p);
}

constexpr std::size_t page = 4096;

void mark_pages(char* p, std::size_t from, std::size_t to) {
  for (std::size_t at = from / page * page; at + sizeof at <= to; at += page) std::memcpy(p + at, &at, sizeof at);
}

void expect_marks(const char* p, std::size_t to) {
  for (std::size_t at = 0; at + sizeof at <= to; at += page) {
    std::size_t found = 0;
    std::memcpy(&found, p + at, sizeof found);
    expect(found == at, "realloc lost a page", at);
  }
}

RULE(realloc, to_200_mib_and_back) {
  constexpr std::size_t top = std::size_t{200} << 20;
  std::size_t n = 100;
  char* p = static_cast<char*>(std::malloc(n));
  for (std::size_t next = n; n < top; n = next) {
    mark_pages(p, 0, n);
    next = n + n / 2 + 7;
    p = static_cast<char*>(std::realloc(p, next));
    expect(p != nullptr, "realloc failed", next);
    expect_marks(p, n);
  }
  mark_pages(p, 0, n);
  while (n > 100) {
    n = n / 3 * 2;
    p = static_cast<char*>(std::realloc(p, n));
    expect(p != nullptr, "realloc to less failed", n);
    expect_marks(p, n);
  }
  std::free(p);
}

RULE(realloc, of_arrays) {
  void* p = nullptr;
  for (std::size_t count = 1; count < 3000; count += 13) {
    p = ::reallocarray(p, count, 24);
    expect(p != nullptr, "reallocarray failed", count);
    if (count > 13) expect(is_filled(p, (count - 13) * 24, 5), "reallocarray lost contents", count);
    fill(p, count * 24, 5);
  }
  std::free(p);
}

RULE(realloc, of_blocks_of_another_thread) {
  for (const std::size_t n : {10u, 100u, 2000u, 50'000u, 900'000u, 6'000'000u}) {
    void* p = nullptr;
    std::thread{[&] { fill(p = std::malloc(n), n, n); }}.join();
    p = std::realloc(p, n * 2);
    expect(p != nullptr && is_filled(p, n, n), "realloc of a block of a thread that ended lost contents", n);
    p = std::realloc(p, n / 2);
    expect(p != nullptr && is_filled(p, n / 2, n), "realloc to less lost contents", n);
    std::free(p);
  }
}

}  // namespace

}  // namespace malloc_rules
