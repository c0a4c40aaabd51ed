// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse, which ends the program and names the heap: double free, foreign free, inner pointer, wrong size.
#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/heap_checks.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::fault;
using ashlar::local_heap;
using ashlar_test::caught_in;

constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;

// Small blocks, an over-aligned one, spans of slices, a huge block.
constexpr std::size_t sizes[] = {1, 24, 100, 4096, 30'000, 70'000, 900'000, 5'000'000};

class heap_checks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }

  template <class F>
  void expect_fault(fault kind, const void* p, const F& misuse, const void* owner = nullptr) {
    const auto seen = caught_in(misuse);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, kind) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &heap_);
    EXPECT_EQ(seen->owner, owner);
  }

  // By each call that takes a block back.
  void expect_fault_of_all(fault kind, void* p, const void* owner = nullptr) {
    expect_fault(kind, p, [&] { heap_.deallocate(p); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate(p, 400); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate(p, 40'000, 64); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate<48>(p); }, owner);
    expect_fault(kind, p, [&] { heap_.deallocate<5'000'000>(p); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.try_reallocate(p, 100)); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.reallocate(p, 100'000)); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.try_expand(p, 100, 101, 16)); }, owner);
    expect_fault(kind, p, [&] { static_cast<void>(heap_.usable_size(p)); }, owner);
  }

  local_heap<> heap_;
};

TEST_F(heap_checks, freed_twice) {
  for (const std::size_t bytes : sizes)
    for (const std::size_t others_between : {0u, 1u, 3u}) {
      void* const p = heap_.allocate(bytes);
      std::vector<void*> others;
      for (std::size_t i = 0; i < 4; ++i) others.push_back(heap_.allocate(bytes));
      heap_.deallocate(p);
      for (std::size_t i = 0; i < others_between; ++i) heap_.deallocate(others[i]);
      expect_fault_of_all(fault::double_free, p);
      for (std::size_t i = others_between; i < others.size(); ++i) heap_.deallocate(others[i]);
    }
  EXPECT_TRUE(heap_.invariant());
}

TEST_F(heap_checks, freed_twice_1024_frees_later) {
  for (const std::size_t bytes : {std::size_t{48}, std::size_t{4096}, std::size_t{70'000}}) {
    std::vector<void*> others;
    void* const p = heap_.allocate(bytes);
    for (int i = 0; i < 1100; ++i) others.push_back(heap_.allocate(bytes));
    heap_.deallocate(p);
    for (int i = 0; i < 1024; ++i) heap_.deallocate(others[static_cast<std::size_t>(i)]);
    expect_fault_of_all(fault::double_free, p);
    for (std::size_t i = 1024; i < others.size(); ++i) heap_.deallocate(others[i]);
  }
}

TEST_F(heap_checks, freed_in_the_middle) {
  for (const std::size_t bytes : sizes) {
    auto* const p = static_cast<std::byte*>(heap_.allocate(bytes));
    for (const std::size_t inside :
         {std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{4096}, std::size_t{65536}, bytes / 2, bytes - 1})
      if (inside != 0 && inside < heap_.usable_size(p)) expect_fault_of_all(fault::misaligned_free, p + inside);
    heap_.deallocate(p);
  }
}

TEST_F(heap_checks, freed_what_is_of_no_heap) {
  static int global = 0;
  int local = 0;
  std::vector<int> vector(100);
  void* const mapped = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // not even readable
  expect_fault_of_all(fault::invalid_free, &local);
  expect_fault_of_all(fault::invalid_free, &global);
  expect_fault_of_all(fault::invalid_free, vector.data());
  expect_fault_of_all(fault::invalid_free, mapped);
  void* const held = heap_.allocate(100);  // the same for a heap with memory
  expect_fault_of_all(fault::invalid_free, &local);
  expect_fault_of_all(fault::invalid_free, mapped);
  auto* const head = ashlar::detail::align_down(static_cast<std::byte*>(held), ashlar::detail::segment_bytes) + 64;
  expect_fault_of_all(fault::invalid_free, head);
  ::munmap(mapped, 8192);
}

TEST_F(heap_checks, freed_to_another_heap) {
  std::optional<local_heap<>> other(std::in_place);
  std::vector<void*> held;
  for (const std::size_t bytes : sizes) held.push_back(other->allocate(bytes));
  for (void* const p : held) expect_fault_of_all(fault::wrong_pool, p, &*other);
  for (std::size_t i = 0; i < held.size(); ++i) other->deallocate(held[i], sizes[i]);
  void* const last = other->allocate(24);
  other.reset();
  expect_fault_of_all(fault::invalid_free, last);
  ashlar::block_pool<> pool({.cell_bytes = 48});
  void* const cell = pool.allocate();
  expect_fault_of_all(fault::wrong_pool, cell, &pool);
  pool.deallocate(cell);
}

TEST_F(heap_checks, freed_as_another_size) {
  for (const std::size_t bytes : sizes)
    for (const std::size_t other : {std::size_t{2000}, bytes + 200'000, bytes * 2 + 16, bytes + 1, bytes - 1}) {
      if (!is_hardened && (other + 1 == bytes || other == bytes + 1)) continue;
      if (other == 0) continue;  // counts as 1
      void* const p = heap_.allocate(bytes);
      if (is_hardened || bytes <= 4'000'000 || other == 2000) {
        expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, other); });
        expect_fault(fault::size_mismatch, p, [&] { static_cast<void>(heap_.try_expand(p, other, 10, 16)); });
      }
      heap_.deallocate(p, bytes);
    }
  void* const aligned = heap_.allocate(24, 256);
  expect_fault(fault::size_mismatch, aligned, [&] { heap_.deallocate(aligned, 24); });
  heap_.deallocate(aligned, 24, 256);
  void* const plain = heap_.allocate(16, 16);
  expect_fault(fault::size_mismatch, plain, [&] { heap_.deallocate(plain, 16, 64); });
  heap_.deallocate(plain, 16, 16);
}

// A huge block may exceed the size known to its caller by an eighth, or by a third after it shrank in place.
TEST_F(heap_checks, a_huge_block_freed_as_a_much_smaller_one) {
  void* const p = heap_.allocate(9'000'000);
  for (const std::size_t other : {std::size_t{70'000}, std::size_t{4'500'000}, std::size_t{6'700'000}}) {
    expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, other); });
    expect_fault(fault::size_mismatch, p, [&] { static_cast<void>(heap_.try_expand(p, other, 10, 16)); });
  }
  heap_.deallocate(p, 9'000'000);
  void* q = heap_.allocate(8'020'000);
  EXPECT_EQ(q, p) << "the spare one, as it is";
  for (const std::size_t smaller :
       {std::size_t{6'760'000}, std::size_t{5'300'000}, std::size_t{70'000}, std::size_t{33'000}}) {
    q = heap_.reallocate(q, smaller);
    EXPECT_TRUE(heap_.try_expand(q, smaller, smaller, 16));
  }
  heap_.deallocate(q, 33'000);
  void* const aligned = heap_.allocate(1, std::size_t{8} << 20);
  heap_.deallocate(aligned, 1, std::size_t{8} << 20);
}

// Spans start at slices and huge blocks at windows: their addresses need not have a larger alignment.
TEST_F(heap_checks, a_run_or_huge_block_freed_with_an_alignment_that_it_does_not_have) {
  for (const std::size_t bytes : {70'000u, 900'000u, 5'000'000u}) {
    void* const p = heap_.allocate(bytes);
    const std::size_t own = std::size_t{1} << std::countr_zero(ashlar::detail::address_of(p));
    for (const std::size_t alignment : {2 * own, 64 * own}) {
      expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, bytes, alignment); });
      expect_fault(fault::size_mismatch, p, [&] { static_cast<void>(heap_.try_expand(p, bytes, bytes, alignment)); });
    }
    heap_.deallocate(p, bytes, own);
  }
}

// At level checked the link of a free cell is sealed; exact_sizes.test.cpp tests level hardened.
TEST_F(heap_checks, a_dead_cell_whose_first_words_were_written_to) {
  if (ashlar_test::has_asan || is_hardened) GTEST_SKIP() << "a tool sees the write itself, or there are no links";
  for (std::size_t at = 0; at < ashlar::detail::thread_cache::link_bytes; at += 3) {
    std::byte* cells[4];
    for (std::byte*& each : cells) each = static_cast<std::byte*>(heap_.allocate(48));
    for (std::byte* const each : cells) heap_.deallocate(each);
    ashlar::detail::mark_readable(cells[1] + at, 1);
    cells[1][at] ^= std::byte{1};
    const auto use = [&] {
      for (std::byte*& each : cells) each = static_cast<std::byte*>(heap_.allocate(48));
    };
    expect_fault(fault::corrupt_link, cells[1], use);
    cells[1][at] ^= std::byte{1};
    heap_.release();
  }
}

TEST_F(heap_checks, the_last_words) {
  const std::string cell = is_hardened ? "64" : "48";  // with room for a canary
  void* const p = heap_.allocate(48);
  heap_.deallocate(p);
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(p),
                           "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*, size " + cell);
  auto* const q = static_cast<std::byte*>(heap_.allocate(48));
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(q, 100),
                           "ashlar: size_mismatch: freed a block with another size than it was allocated with, pointer "
                           "0x*, resource 0x*, " +
                               std::string(is_hardened ? "expected 48" : "block of 48 bytes, alignment 16") +
                               ", got 100");
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(q + 8),
                           "ashlar: misaligned_free: freed a pointer into the middle of a block, pointer 0x*, "
                           "resource 0x*, size " +
                               cell);
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(&heap_),
                           "ashlar: invalid_free: freed a pointer that is not of this heap, pointer 0x*, resource 0x*");
  local_heap<> other;
  void* const foreign = other.allocate(48);
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(foreign), "ashlar: wrong_pool: freed a block of another heap, pointer 0x*, "
                                                      "resource 0x*, owner 0x*");
  heap_.deallocate(q);
}

}  // namespace
