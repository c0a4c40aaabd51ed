// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Misuse of a heap is the end, and named: freed twice, freed elsewhere, freed in the middle, freed as another size.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/heap/heap_faults.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::fault;
using ashlar::local_heap;
using ashlar_test::caught_in;

// A small block, one over-aligned, a run of slices, a huge block.
constexpr std::size_t sizes[] = {1, 24, 100, 4096, 30'000, 70'000, 900'000, 5'000'000};

class heap_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }

  template <class F>
  void expect_fault(fault kind, const void* p, const F& misuse) {
    const auto seen = caught_in(misuse);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, kind) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &heap_);
  }

  local_heap<> heap_;
};

TEST_F(heap_faults, freed_twice) {
  for (const std::size_t bytes : sizes)
    for (const bool others_between : {false, true}) {
      void* const p = heap_.allocate(bytes);
      void* const other = heap_.allocate(bytes);
      heap_.deallocate(p);
      if (others_between) heap_.deallocate(other);
      const fault expected = bytes < 4'000'000 ? fault::double_free : fault::invalid_free;  // no window is left
      expect_fault(expected, p, [&] { heap_.deallocate(p); });
      expect_fault(expected, p, [&] { heap_.deallocate(p, bytes); });
      if (!others_between) heap_.deallocate(other);
    }
  EXPECT_TRUE(heap_.invariant());
}

TEST_F(heap_faults, freed_in_the_middle) {
  for (const std::size_t bytes : sizes) {
    auto* const p = static_cast<std::byte*>(heap_.allocate(bytes));
    for (const std::size_t inside : {std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{65536}})
      if (inside < heap_.usable_size(p))
        expect_fault(fault::misaligned_free, p + inside, [&] { heap_.deallocate(p + inside); });
    heap_.deallocate(p);
  }
}

TEST_F(heap_faults, freed_elsewhere) {
  local_heap<> other;
  int local = 0;
  std::vector<int> vector(100);
  EXPECT_EQ(caught_in([&] { heap_.deallocate(&local); })->kind, fault::invalid_free);
  expect_fault(fault::invalid_free, vector.data(), [&] { heap_.deallocate(vector.data(), 400); });
  for (const std::size_t bytes : sizes) {
    void* const p = other.allocate(bytes);
    expect_fault(fault::invalid_free, p, [&] { heap_.deallocate(p); });
    expect_fault(fault::invalid_free, p, [&] { heap_.deallocate(p, bytes); });
    other.deallocate(p);
  }
  auto* const mine = static_cast<std::byte*>(heap_.allocate(1));
  std::byte* const head = ashlar::align_down(mine, ashlar::segment_bytes) + 64;
  expect_fault(fault::invalid_free, head, [&] { heap_.deallocate(head); });
}

TEST_F(heap_faults, freed_as_another_size) {
  for (const std::size_t bytes : sizes)
    for (const std::size_t other : {std::size_t{2000}, bytes + 200'000, bytes * 2 + 16}) {
      void* const p = heap_.allocate(bytes);
      if (bytes <= 4'000'000 || other == 2000)
        expect_fault(fault::size_mismatch, p, [&] { heap_.deallocate(p, other); });
      heap_.deallocate(p, bytes);
    }
  void* const aligned = heap_.allocate(24, 256);
  expect_fault(fault::size_mismatch, aligned, [&] { heap_.deallocate(aligned, 24); });
  heap_.deallocate(aligned, 24, 256);
}

TEST_F(heap_faults, the_last_words) {
  void* const p = heap_.allocate(48);
  heap_.deallocate(p);
  ASHLAR_EXPECT_DEATH(heap_.deallocate(p),
                      "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*");
  void* const q = heap_.allocate(48);
  ASHLAR_EXPECT_DEATH(heap_.deallocate(q, 100),
                      "ashlar: size_mismatch: freed a block with another size than it was allocated with, pointer 0x*, "
                      "resource 0x*, size 48, expected 48, got 100");
  heap_.deallocate(q);
}

TEST_F(heap_faults, a_free_block_that_was_written_to) {
  if (ashlar::checking_level < ashlar::checking::hardened || ashlar_test::has_asan)
    GTEST_SKIP() << "looked for at hardened; the sanitizer sees the write itself";
  std::vector<void*> cells(10);
  for (void*& each : cells) each = heap_.allocate(48);
  for (void* const each : cells) heap_.deallocate(each, 48);
  *static_cast<std::size_t*>(cells[9]) = 0x4141414141414141u & ashlar::max_size;
  const auto seen = caught_in([&] { static_cast<void>(heap_.allocate(48)); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::corrupt_link);
  heap_.release();
}

TEST_F(heap_faults, a_free_block_that_was_written_to_before_a_sweep) {
  if (ashlar::checking_level < ashlar::checking::hardened || ashlar_test::has_asan)
    GTEST_SKIP() << "looked for at hardened; the sanitizer sees the write itself";
  std::vector<void*> cells(10);
  for (void*& each : cells) each = heap_.allocate(48);
  for (void* const each : cells) heap_.deallocate(each, 48);
  *static_cast<std::size_t*>(cells[5]) = 0x4141414141414141u & ashlar::max_size;
  const auto seen = caught_in([&] { static_cast<void>(heap_.trim()); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, fault::corrupt_link);
  EXPECT_EQ(seen->resource, &heap_);
  heap_.release();
}

}  // namespace
