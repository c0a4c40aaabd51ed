// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of level hardened: requested sizes to the byte, and writes past the end of a block or after its free.
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/heap/local_heap.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"

namespace {

using ashlar::fault;
using ashlar::local_heap;
using ashlar_test::caught_in;

// A cell, a span, a huge block; none fills its memory.
constexpr std::size_t sizes[] = {1, 40, 100, 1000, 20'000, 70'000, 5'000'000};

class exact_sizes : public ::testing::Test {
protected:
  void SetUp() override {
    if (ashlar::checking_level < ashlar::checking::hardened) GTEST_SKIP() << "known at level hardened";
  }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) { return static_cast<std::byte*>(heap_.allocate(bytes)); }

  local_heap<> heap_;
};

// As above, for writes that the heap detects, not a tool.
class written_blocks : public exact_sizes {
protected:
  void SetUp() override {
    exact_sizes::SetUp();
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "a tool sees the write itself";
  }

  template <class F>
  void expect_fault(fault kind, const void* p, const F& misuse) {
    const auto seen = caught_in(misuse);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, kind) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, &heap_);
  }
};

TEST_F(written_blocks, one_byte_behind_any_size_is_seen) {
  for (std::size_t bytes = 1; bytes <= 4096; ++bytes) {
    auto* const p = allocate(bytes);
    p[bytes] ^= std::byte{1};
    expect_fault(fault::overflow, p, [&] { heap_.deallocate(p); });
    p[bytes] ^= std::byte{1};
    heap_.deallocate(p);
  }
}

TEST_F(written_blocks, eight_bytes_before_a_cell_are_seen) {
  std::byte* const cells[] = {allocate(40), allocate(40), allocate(40)};
  const auto change = [&] {  // each byte, whatever the secret made of it
    for (int i = 1; i <= 8; ++i) cells[1][-i] ^= std::byte{0x41};
  };
  change();
  expect_fault(fault::underflow, cells[1], [&] { heap_.deallocate(cells[1], 40); });
  change();
  for (std::byte* const each : cells) heap_.deallocate(each, 40);
}

TEST_F(written_blocks, bytes_before_a_cell_are_watched_for_any_neighbour) {
  for (const std::size_t bytes : {1u, 16u, 40u, 112u, 1000u, 20'000u}) {
    local_heap<> heap;
    std::vector<std::byte*> cells;
    for (int i = 0; i < 40; ++i) cells.push_back(static_cast<std::byte*>(heap.allocate(bytes)));
    for (std::size_t i = 1; i < 40; i += 3) heap.deallocate(cells[i]);  // live and free neighbours
    for (std::size_t i = 0; i < 40; ++i) {
      if (i % 3 == 1) continue;
      cells[i][-1] ^= std::byte{4};
      const auto seen = caught_in([&] { heap.deallocate(cells[i], bytes); });
      cells[i][-1] ^= std::byte{4};
      if (ashlar::detail::is_aligned(cells[i], ashlar::detail::slice_bytes)) continue;  // no neighbour of the block
      ASSERT_TRUE(seen.has_value()) << bytes << " bytes, block " << i;
      EXPECT_EQ(seen->kind, fault::underflow);
      EXPECT_EQ(seen->pointer, cells[i]);
    }
    heap.release();
  }
}

TEST_F(written_blocks, an_overflow_is_detected_by_every_call_that_takes_the_block) {
  for (const std::size_t bytes : sizes)
    for (const std::size_t behind : {0u, 7u, 31u}) {
      if (bytes + behind >= ashlar::detail::size_classes::rounded(bytes < 30'000 ? bytes : 1) && bytes < 30'000)
        continue;
      auto* const p = allocate(bytes);
      p[bytes + behind] ^= std::byte{0x40};
      expect_fault(fault::overflow, p, [&] { heap_.deallocate(p); });
      expect_fault(fault::overflow, p, [&] { heap_.deallocate(p, bytes); });
      expect_fault(fault::overflow, p, [&] { static_cast<void>(heap_.try_reallocate(p, bytes + 1)); });
      expect_fault(fault::overflow, p, [&] { static_cast<void>(heap_.try_expand(p, bytes, bytes + 1, 16)); });
      p[bytes + behind] ^= std::byte{0x40};
      heap_.deallocate(p, bytes);
    }
}

TEST_F(written_blocks, a_dead_block_is_looked_at_before_its_memory_goes) {
  for (const std::size_t bytes : sizes) {
    auto* const p = allocate(bytes);
    void* const other = allocate(bytes);
    heap_.deallocate(p);
    p[bytes / 2 % 64] ^= std::byte{0x20};
    expect_fault(fault::corrupt_link, p, [&] { heap_.release(); });
    p[bytes / 2 % 64] ^= std::byte{0x20};
    heap_.deallocate(other);
    static_cast<void>(heap_.trim());
  }
}

TEST_F(written_blocks, any_byte_of_a_dead_run_up_to_512_kib_is_seen) {
  for (const std::size_t bytes : {std::size_t{70'000}, std::size_t{262'144}, std::size_t{524'000}})
    for (const std::size_t at : {std::size_t{0}, std::size_t{4096}, bytes / 2, bytes - 1})
      for (const bool is_joined : {false, true}) {
        local_heap<> heap;
        auto* const p = static_cast<std::byte*>(heap.allocate(bytes));
        void* const other = heap.allocate(bytes);
        heap.deallocate(p);
        if (is_joined) heap.for_each_live([](void*, std::size_t) {});
        p[at] ^= std::byte{0x40};
        const auto seen = caught_in([&] {
          for (int i = 0; i < 8; ++i) static_cast<void>(heap.allocate(bytes / 2));
          heap.release();
        });
        ASSERT_TRUE(seen.has_value()) << bytes << " at " << at;
        EXPECT_EQ(seen->kind, fault::corrupt_link);
        EXPECT_EQ(seen->pointer, p);
        p[at] ^= std::byte{0x40};
        heap.deallocate(other);
      }
}

TEST_F(written_blocks, a_write_beside_a_live_block_is_seen_when_the_heap_is_released_or_ends) {
  for (const std::size_t bytes : sizes) {
    auto* const p = allocate(bytes);
    p[bytes] ^= std::byte{1};
    expect_fault(fault::overflow, p, [&] { heap_.release(); });
    const auto ends = [&] { heap_.~local_heap<>(); };
    EXPECT_EXIT((ends(), std::_Exit(0)), ::testing::KilledBySignal(SIGABRT),
                "ashlar: overflow: bytes past the end of a block");
    p[bytes] ^= std::byte{1};
    heap_.release();
  }
}

TEST_F(written_blocks, the_last_words) {
  auto* const p = allocate(41);
  p[41] ^= std::byte{1};
  ASHLAR_EXPECT_LAST_WORDS(
      heap_.deallocate(p),
      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, "
      "expected 41, got 42");
  p[41] ^= std::byte{1};
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(p, 42),
                           "ashlar: size_mismatch: freed a block with another size than it was allocated with, pointer "
                           "0x*, resource 0x*, expected 41, got 42");
  ASHLAR_EXPECT_LAST_WORDS(heap_.deallocate(p, 41, 64),
                           "ashlar: size_mismatch: freed a block with another alignment than it was allocated with, "
                           "pointer 0x*, resource 0x*, size 41, block of 48 bytes, alignment 64");
  heap_.deallocate(p, 41);
  p[8] ^= std::byte{1};
  ASHLAR_EXPECT_LAST_WORDS(heap_.release(), "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource "
                                            "0x*, size 48");
  p[8] ^= std::byte{1};
}

}  // namespace
