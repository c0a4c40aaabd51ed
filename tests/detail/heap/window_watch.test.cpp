// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of bounded_heap at level hardened: it keeps the requested size of each small block, and detects writes beside
// it and after its free.
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/window_watch.hpp>
#include <ashlar/heap/bounded_heap.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"

namespace {

using ashlar::bounded_heap;
using ashlar::fault;
using ashlar_test::caught_in;

constexpr std::size_t region = std::size_t{1} << 20;
constexpr std::size_t sizes[] = {1, 16, 40, 64, 112, 500, 1000, 1022, 1023};

class sizes_in_windows : public ::testing::Test {
protected:
  void SetUp() override {
    if (ashlar::checking_level < ashlar::checking::hardened) GTEST_SKIP() << "known at level hardened";
  }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) { return static_cast<std::byte*>(heap_->allocate(bytes)); }

  std::unique_ptr<bounded_heap<>> heap_ = std::make_unique<bounded_heap<>>(region);
};

// As above, for writes that the heap detects, not a tool.
class writes_in_windows : public sizes_in_windows {
protected:
  void SetUp() override {
    sizes_in_windows::SetUp();
    if (!ashlar::detail::keeps_canaries) GTEST_SKIP() << "a tool sees the write itself";
  }

  template <class F>
  void expect_fault(fault kind, const void* p, const F& misuse) {
    const auto seen = caught_in(misuse);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(ashlar::name_of(seen->kind), ashlar::name_of(kind)) << seen->what;
    EXPECT_EQ(seen->pointer, p);
    EXPECT_EQ(seen->resource, heap_.get());
  }

  // Inverts a bit of the byte at `at` around `misuse`, which is reported.
  template <class F>
  void expect_write_seen(fault kind, const void* p, std::byte* at, const F& misuse) {
    *at ^= std::byte{1};
    expect_fault(kind, p, misuse);
    *at ^= std::byte{1};
  }
};

TEST_F(sizes_in_windows, usable_is_what_was_asked_for) {
  for (const std::size_t bytes : sizes) {
    auto* p = allocate(bytes);
    EXPECT_EQ(heap_->usable_size(p), bytes);
    std::memset(p, 0xEE, bytes);
    heap_->for_each_live([&](void* at, std::size_t size) { EXPECT_TRUE(at == p && size == bytes); });
    if (heap_->try_expand(p, bytes, bytes + 1, 16)) {
      EXPECT_EQ(heap_->usable_size(p), bytes + 1);
      std::memset(p, 0xEE, bytes + 1);
      EXPECT_TRUE(heap_->try_shrink(p, bytes + 1, bytes, 16));
    }
    p = static_cast<std::byte*>(heap_->reallocate(p, bytes + 3));
    EXPECT_EQ(heap_->usable_size(p), bytes + 3);
    heap_->deallocate(p, bytes + 3);
    const ashlar::block got = heap_->allocate_at_least(bytes);
    EXPECT_EQ(got.size, bytes);
    heap_->deallocate(got.data, got.size);
  }
  void* const nothing = heap_->allocate(0);
  EXPECT_EQ(heap_->usable_size(nothing), 1u);
  heap_->deallocate(nothing, 0);
}

TEST_F(sizes_in_windows, any_other_size_is_a_mismatch) {
  for (const std::size_t bytes : sizes) {
    auto* const p = allocate(bytes);
    for (const std::size_t other : {bytes + 1, bytes + 8, bytes * 2, bytes / 2}) {
      if (other == 0) continue;  // counts as one byte
      const auto seen = caught_in([&] { heap_->deallocate(p, other); });
      ASSERT_TRUE(seen.has_value()) << bytes << " freed as " << other;
      EXPECT_EQ(seen->kind, fault::size_mismatch);
      EXPECT_TRUE(seen->expected == bytes && seen->got == other);
    }
    heap_->deallocate(p, bytes);
  }
}

TEST_F(writes_in_windows, one_byte_behind_any_size_is_seen) {
  for (std::size_t bytes = 1; bytes <= 1030; ++bytes) {
    auto* const p = allocate(bytes);
    const auto seen = [&] {
      p[bytes] ^= std::byte{1};
      return caught_in([&] { heap_->deallocate(p); });
    }();
    ASSERT_TRUE(seen.has_value() && seen->kind == fault::overflow) << bytes;
    p[bytes] ^= std::byte{1};
    heap_->deallocate(p, bytes);
  }
}

TEST_F(writes_in_windows, an_overflow_is_detected_by_every_call_that_takes_the_block) {
  auto* const p = allocate(37);
  for (std::byte* const at : {p + 37, p + 44, p + 47}) {
    expect_write_seen(fault::overflow, p, at, [&] { heap_->deallocate(p, 37); });
    expect_write_seen(fault::overflow, p, at, [&] { static_cast<void>(heap_->reallocate(p, 38)); });
    expect_write_seen(fault::overflow, p, at, [&] { static_cast<void>(heap_->try_expand(p, 37, 38, 16)); });
    expect_write_seen(fault::overflow, p, at, [&] { heap_->release(); });
  }
  heap_->deallocate(p, 37);
}

TEST_F(writes_in_windows, bytes_before_a_cell_are_watched_for_any_neighbour) {
  for (const std::size_t bytes : sizes) {
    std::vector<std::byte*> cells;
    for (int i = 0; i < 12; ++i) cells.push_back(allocate(bytes));
    for (std::size_t i = 1; i < 12; i += 3) heap_->deallocate(cells[i]);  // live and free neighbours
    for (std::size_t i = 2; i < 12; i += 1 + i % 3)                       // behind a free one, and behind a live one
      expect_write_seen(fault::underflow, cells[i], cells[i] - 1, [&] { heap_->deallocate(cells[i]); });
    heap_->release();
  }
}

// A report left by a jump leaves the cell half taken, so each case has its own heap.
TEST_F(writes_in_windows, any_byte_of_a_dead_cell_is_seen_when_it_is_used_again) {
  for (const std::size_t bytes : sizes)
    for (std::size_t at = 0; at <= bytes; at += 1 + at / 9) {
      heap_ = std::make_unique<bounded_heap<>>(region);
      std::byte* const cells[] = {allocate(bytes), allocate(bytes), allocate(bytes)};
      heap_->deallocate(cells[1]);
      expect_write_seen(fault::corrupt_link, cells[1], cells[1] + at, [&] { static_cast<void>(allocate(bytes)); });
    }
}

TEST_F(writes_in_windows, a_dead_cell_is_looked_at_before_its_window_goes) {
  const auto use_up = [&] {
    while (heap_->try_allocate(5000) != nullptr) {
    }
  };
  const char* const words = "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size 48";
  auto* const p = allocate(40);
  heap_->deallocate(p);  // the window becomes the spare one
  p[20] ^= std::byte{1};
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(allocate(300)), words);
  ASHLAR_EXPECT_LAST_WORDS(heap_->release(), words);
  ASHLAR_EXPECT_LAST_WORDS(use_up(), words);
  p[20] ^= std::byte{1};
}

TEST_F(writes_in_windows, a_write_is_seen_when_the_heap_ends) {
  auto* const live = allocate(40);
  auto* const dead = allocate(40);
  heap_->deallocate(dead);
  live[40] ^= std::byte{1};
  ASHLAR_EXPECT_LAST_WORDS(heap_.reset(),
                           "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, "
                           "resource 0x*, expected 40, got 41");
  live[40] ^= std::byte{1};
  dead[17] ^= std::byte{1};
  ASHLAR_EXPECT_LAST_WORDS(heap_.reset(),
                           "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size 48");
  dead[17] ^= std::byte{1};
}

}  // namespace
