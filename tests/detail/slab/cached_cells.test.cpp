// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the cached cells against a stack and the set of cells of one batch.
#include <ashlar/detail/slab/cached_cells.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bits.hpp>

#include "tests/support/build.hpp"

namespace {

using cached_cells = ashlar::detail::cached_cells<>;
using ashlar::detail::cell_batch;

constexpr std::size_t cell_bytes = 24;

/// Cached cells with a stack and a set as model; the cells are bytes of an array, never touched.
class modelled_cells {
public:
  explicit modelled_cells(unsigned seed) : memory_(std::size_t{4096} * 64 * cell_bytes), random_(seed) {}

  void take() {
    void* const got = cached_.take(cell_bytes);
    if (!array_.empty()) {
      EXPECT_EQ(got, array_.back());
      array_.pop_back();
    } else if (!batch_.empty()) {
      EXPECT_EQ(got, *batch_.begin());
      batch_.erase(batch_.begin());
    } else {
      EXPECT_EQ(got, nullptr);
      return;
    }
    live_.push_back(got);
  }

  void refill() {
    const std::uint64_t mask = (std::uint64_t{random_()} << 32 | random_()) | 1u << random_() % 32;
    std::byte* const base = memory_.data() + next_word_++ * 64 * cell_bytes;
    for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1)
      batch_.insert(base + static_cast<std::size_t>(std::countr_zero(rest)) * cell_bytes);
    granted_ = std::min(granted_ + batch_.size(), cached_cells::limit(cell_bytes));
    EXPECT_EQ(cached_.refill({base, mask}, cell_bytes), *batch_.begin());
    live_.push_back(*batch_.begin());
    batch_.erase(batch_.begin());
  }

  void put() {
    std::swap(live_[random_() % live_.size()], live_.back());
    ASSERT_EQ(cached_.has_room(), array_.size() < granted_);
    if (cached_.has_room()) {
      cached_.put(live_.back());
      array_.push_back(live_.back());
    }
    live_.pop_back();
  }

  void empty_array() {
    std::vector<void*> cells;
    cached_.empty_array([&](void* cell) { cells.push_back(cell); });
    std::ranges::reverse(cells);
    EXPECT_EQ(cells, array_);
    array_.clear();
    granted_ = 0;
  }

  void expect_same() {
    ASSERT_TRUE(cached_.invariant(cell_bytes));
    ASSERT_EQ(cached_.in_array(), array_.size());
    ASSERT_EQ(cached_.in_batch(), batch_.size());
    ASSERT_EQ(cached_.size(), array_.size() + batch_.size());
    ASSERT_EQ(cached_.is_array_empty(), array_.empty());
    ASSERT_EQ(cached_.is_batch_empty(), batch_.empty());
    for (void* const cell : batch_) ASSERT_TRUE(is_in_word(cell));
    for (void* const cell : live_) ASSERT_FALSE(is_in_word(cell));
  }

  [[nodiscard]] bool is_in_word(const void* cell) const { return cached_.batch().has(cell, cell_bytes); }

  void step() {
    const std::size_t choice = random_() % 100;
    const bool growing = step_++ / 500 % 2 == 0;
    if (choice == 0 && step_ % 7 == 0) empty_array();
    else if (choice < (growing ? 70 : 20)) {
      if (array_.empty() && batch_.empty()) refill();
      else take();
    } else if (!live_.empty()) {
      put();
    }
  }

  cached_cells cached_;

private:
  std::vector<std::byte> memory_;
  std::mt19937 random_;
  std::vector<void*> array_;
  std::set<void*> batch_;
  std::vector<void*> live_;
  std::size_t granted_ = 0;
  std::size_t next_word_ = 0;
  std::size_t step_ = 0;
};

TEST(cached_cells, are_an_array_before_a_batch) {
  for (unsigned seed = 1; seed <= (ashlar_test::is_slow ? 5u : 20u); ++seed) {
    modelled_cells m(seed);
    for (int step = 0; step < 3000; ++step) {
      m.step();
      ASSERT_NO_FATAL_FAILURE(m.expect_same()) << "step " << step << ", seed " << seed;
    }
  }
}

// The array of cached cells grows by the cells of batches, up to 256 KiB and its slots. No cell is touched.
TEST(cached_cells, the_array_is_bounded) {
  std::byte* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 28);
  for (const std::size_t bytes : {1u, 24u, 64u, 65u, 4096u, 65536u, 262144u, 262145u}) {
    EXPECT_LE(cached_cells::limit(bytes), cached_cells::slot_count);
    EXPECT_LE(cached_cells::limit(bytes) * bytes, 256u * 1024u);
    cached_cells cache;
    for (std::size_t word = 0; word < 40; ++word) {
      static_cast<void>(cache.refill({nowhere, ~std::uint64_t{0}}, bytes));
      while (!cache.is_batch_empty()) static_cast<void>(cache.take_from_batch(bytes));
    }
    while (cache.has_room()) cache.put(nowhere);
    EXPECT_EQ(cache.in_array(), std::min(cached_cells::limit(bytes), std::size_t{40 * 64}));
  }
}

// Takes cells instead of slabs.
struct taken_cells {
  std::set<void*> cells = {};

  void gather(int, void* cell, ashlar::detail::gathered_cells<ashlar::detail::slab>&) {
    EXPECT_TRUE(cells.insert(cell).second);
  }
  void give(int, const ashlar::detail::gathered_cells<ashlar::detail::slab>&) {}
  void give(int, const ashlar::detail::cell_batch& rest) {
    for (std::size_t i = 0; i < 64; ++i)
      if (((rest.mask >> i) & 1) != 0) EXPECT_TRUE(cells.insert(rest.base + i * cell_bytes).second);
  }
};

TEST(cached_cells, hand_over_all_they_have) {
  cached_cells cache;
  std::array<std::byte, 64 * cell_bytes> memory{};
  void* const first = cache.refill({memory.data(), 0b1011}, cell_bytes);
  if (cache.has_room()) cache.put(first);
  std::set<void*> expected = {memory.data() + cell_bytes, memory.data() + 3 * cell_bytes};
  if (cache.in_array() != 0) expected.insert(first);
  taken_cells store;
  cache.give_all(0, store);
  EXPECT_EQ(store.cells, expected);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_FALSE(cache.has_room());
  EXPECT_EQ(cache.take(cell_bytes), nullptr);
}

TEST(cached_cells, clear_forgets_all) {
  cached_cells cache;
  std::array<std::byte, 64 * cell_bytes> memory{};
  void* const first = cache.refill({memory.data(), 7}, cell_bytes);
  if (cache.has_room()) cache.put(first);
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_FALSE(cache.has_room());
  EXPECT_EQ(cache.take(cell_bytes), nullptr);
  EXPECT_TRUE(cache.invariant(cell_bytes));
}

constinit cached_cells made_at_compile_time;

TEST(cached_cells, are_made_at_compile_time_and_never_copied) {
  EXPECT_EQ(made_at_compile_time.size(), 0u);
  EXPECT_FALSE(std::is_copy_constructible_v<cached_cells> || std::is_copy_assignable_v<cached_cells>);
  EXPECT_TRUE(std::is_trivially_destructible_v<cached_cells> && std::is_nothrow_default_constructible_v<cached_cells>);
}

}  // namespace
