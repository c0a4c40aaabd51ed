// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests a slab's bitmap against vector<bool>.
#include <ashlar/part/slab.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::slab;

static_assert(sizeof(slab) % 8 == 0 && alignof(slab) == 64, "the bitmap follows the header");

/// Memory for a header and a bitmap of up to 512 cells. The bitmap starts full of rubbish.
struct alignas(64) slab_memory {
  std::byte bytes[sizeof(slab) + 8 * 8];
  slab_memory() { std::ranges::fill(bytes, std::byte{0xA5}); }
};

class modelled_slab {
public:
  explicit modelled_slab(std::uint32_t capacity)
      : slab_(slab::format(&memory_, this, memory_.bytes, capacity)), free_(capacity, true) {}

  [[nodiscard]] slab& real() { return *slab_; }
  [[nodiscard]] std::uint32_t free_cells() const { return static_cast<std::uint32_t>(std::ranges::count(free_, true)); }

  void set_free(std::uint32_t cell) {
    slab_->set_free(cell);
    free_[cell] = true;
  }

  /// Effects: takes a word, and checks that it is the lowest free cells of the first word that has some.
  std::vector<std::uint32_t> take(std::size_t most) {
    const slab::taken got = slab_->take_word(most);
    const auto first = static_cast<std::uint32_t>(std::ranges::find(free_, true) - free_.begin());
    EXPECT_EQ(got.word, first / 64);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t cell = got.word * 64; cell < std::min<std::size_t>(free_.size(), got.word * 64 + 64); ++cell)
      if (free_[cell] && expected.size() < most) expected.push_back(cell);
    std::vector<std::uint32_t> cells;
    for (std::uint64_t rest = got.mask; rest != 0; rest &= rest - 1)
      cells.push_back(got.word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
    EXPECT_EQ(cells, expected);
    for (const std::uint32_t cell : cells) free_[cell] = false;
    return cells;
  }

  void expect_same() {
    ASSERT_TRUE(slab_->invariant());
    ASSERT_EQ(slab_->free, free_cells());
    for (std::uint32_t cell = 0; cell < free_.size(); ++cell) ASSERT_EQ(slab_->is_free(cell), free_[cell]) << cell;
  }

private:
  slab_memory memory_;
  slab* slab_;
  std::vector<bool> free_;
};

TEST(slab, starts_with_all_cells_free_and_no_others) {
  for (std::uint32_t capacity = 1; capacity <= 512; ++capacity) {
    modelled_slab s(capacity);
    EXPECT_EQ(s.real().words(), (capacity + 63) / 64);
    EXPECT_EQ(s.real().capacity, capacity);
    EXPECT_EQ(s.real().owner, &s);
    ASSERT_NO_FATAL_FAILURE(s.expect_same());
    std::uint64_t existing = 0;
    for (std::size_t word = 0; word < s.real().words(); ++word)
      existing += static_cast<std::uint64_t>(std::popcount(s.real().cells_in_word(word)));
    EXPECT_EQ(existing, capacity);
  }
}

TEST(slab, hands_out_every_cell_once) {
  for (const std::uint32_t capacity : {1u, 2u, 63u, 64u, 65u, 128u, 511u, 512u})
    for (const std::size_t most :
         {std::size_t{1}, std::size_t{7}, std::size_t{63}, std::size_t{64}, std::size_t{1000}}) {
      modelled_slab s(capacity);
      std::size_t handed_out = 0;
      while (s.real().free != 0) handed_out += s.take(most).size();
      EXPECT_EQ(handed_out, capacity);
      ASSERT_NO_FATAL_FAILURE(s.expect_same());
    }
}

TEST(slab, behaves_as_a_vector_of_bits) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::uint32_t capacity = 1 + static_cast<std::uint32_t>(random() % 512);
    modelled_slab s(capacity);
    std::vector<std::uint32_t> taken;
    for (int step = 0; step < 300; ++step) {
      if (s.real().free != 0 && (taken.empty() || random() % 3 == 0)) {
        const auto got = s.take(1 + random() % 80);
        taken.insert(taken.end(), got.begin(), got.end());
      } else {
        std::swap(taken[random() % taken.size()], taken.back());
        s.set_free(taken.back());
        taken.pop_back();
      }
      ASSERT_NO_FATAL_FAILURE(s.expect_same());
    }
  }
}

TEST(slab, the_invariant_sees_wrong_counts_hints_and_bits) {
  modelled_slab s(100);
  static_cast<void>(s.take(64));
  static_cast<void>(s.take(3));
  slab& real = s.real();
  ASSERT_TRUE(real.invariant());
  ++real.free;
  EXPECT_FALSE(real.invariant());
  --real.free;
  real.bits()[1] |= std::uint64_t{1} << 36;  // cell 100, which does not exist
  ++real.free;
  EXPECT_FALSE(real.invariant());
  --real.free;
  real.bits()[1] &= ~(std::uint64_t{1} << 36);
  real.bits()[0] = 1;  // below the hint
  ++real.free;
  EXPECT_FALSE(real.invariant());
}

}  // namespace
