// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// calloc: memory is zero however dirty it was.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

namespace malloc_rules {
namespace {

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

void of_every_size() {
  for (const std::size_t n : many_sizes()) {
    make_dirty(n);
    expect_zero_blocks(n, 1);
  }
}

void of_members() {
  for (const std::size_t n : {64u, 1000u, 5000u, 100'000u, 2'000'000u})
    for (const std::size_t members : {2u, 7u, 50u}) {
      make_dirty(n);
      expect_zero_blocks(n, members);
    }
}

// Memory of one size serves another: dirt is left in runs that are cut differently.
void of_mixed_sizes() {
  random_numbers random{2};
  void* blocks[300] = {};
  for (int round = 0; round < 30'000; ++round) {
    void*& p = blocks[random.below(std::size(blocks))];
    std::free(p);
    const std::size_t n = random.size(round % 100 == 0 ? 22 : 15);
    p = random.below(2) == 0 ? std::malloc(n) : std::calloc(1, n);
    expect(p != nullptr, "no block", n);
    std::memset(p, 0xFF, n);
    void* const zero = std::calloc(1, n);
    expect(is_zero(zero, n), "calloc gave dirty memory", n);
    std::memset(zero, 0xEE, n);
    std::free(zero);
  }
  for (void* p : blocks) std::free(p);
}

void of_memory_from_another_thread() {
  for (const std::size_t n : {16u, 100u, 1024u, 30'000u, 300'000u, 5'000'000u}) {
    std::thread{[=] { make_dirty(n); }}.join();
    expect_zero_blocks(n, 1);
    make_dirty(n);
    std::thread{[=] { expect_zero_blocks(n, 1); }}.join();
  }
}

void of_memory_that_was_trimmed() {
  for (int round = 0; round < 20; ++round) {
    for (const std::size_t n : {100u, 4096u, 70'000u, 2'000'000u}) {
      make_dirty(n);
      ::malloc_trim(0);
      expect_zero_blocks(n, 1);
    }
  }
}

void of_memory_that_realloc_left() {
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

constexpr rule rules[] = {
    {"zero.of_every_size", of_every_size},
    {"zero.of_members", of_members},
    {"zero.of_mixed_sizes", of_mixed_sizes},
    {"zero.of_memory_from_another_thread", of_memory_from_another_thread},
    {"zero.of_memory_that_was_trimmed", of_memory_that_was_trimmed},
    {"zero.of_memory_that_realloc_left", of_memory_that_realloc_left},
};

}  // namespace

std::span<const rule> rules_of_zero() { return rules; }

}  // namespace malloc_rules
