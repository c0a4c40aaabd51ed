// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of a slab's bitmap against vector<bool>.
#include <ashlar/detail/slab/slab.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/bitmap.hpp>

namespace {

using ashlar::detail::slab;

static_assert(sizeof(slab) % 8 == 0 && alignof(slab) == 64, "the bitmap follows the header");

/// Memory for a header and the bitmaps of up to 512 cells, initially filled with garbage.
struct alignas(64) slab_memory {
  std::byte bytes[sizeof(slab) + 8 * 8 * ashlar::detail::cell_bitmaps];
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

  /// Effects: takes a batch, and checks that it has the lowest free cells of the next word with free cells.
  std::vector<std::uint32_t> take(std::size_t most) {
    const std::uint32_t next = next_word_with([this](std::uint32_t cell) { return bool{free_[cell]}; }, 8);
    const slab::taken got = slab_->take_batch(most);
    EXPECT_EQ(got.word, next);
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

  /// Effects: takes a run, and checks that it is the lowest of the next word with such a run, among `most_words`.
  std::vector<std::uint32_t> take_run(std::uint32_t length, std::size_t most_words) {
    const std::uint32_t next =
        next_word_with([this, length](std::uint32_t cell) { return has_run(cell, length); }, most_words);
    const slab::taken got = slab_->take_run(length, most_words);
    if (next == none) {
      EXPECT_EQ(got.mask, 0u);
      return {};
    }
    std::uint32_t first = next * 64;
    while (!has_run(first, length)) ++first;
    EXPECT_EQ(got.word, next);
    EXPECT_EQ(got.mask, ashlar::detail::ones(first % 64, length));
    std::vector<std::uint32_t> cells;
    for (std::uint32_t cell = first; cell != first + length; ++cell) cells.push_back(cell), free_[cell] = false;
    return cells;
  }

  void expect_same() {
    ASSERT_TRUE(slab_->invariant());
    ASSERT_EQ(slab_->free, free_cells());
    for (std::uint32_t cell = 0; cell < free_.size(); ++cell) ASSERT_EQ(slab_->is_free(cell), free_[cell]) << cell;
  }

private:
  static constexpr std::uint32_t none = 1000;

  // Whether a run of free cells inside one word starts at `cell`.
  [[nodiscard]] bool has_run(std::uint32_t cell, std::uint32_t length) const {
    if (cell % 64 + length > 64 || cell + length > free_.size()) return false;
    for (std::uint32_t i = 0; i < length; ++i)
      if (!free_[cell + i]) return false;
    return true;
  }

  // The first word, among `most_words` from the slab's next on, with a `good` cell.
  [[nodiscard]] std::uint32_t next_word_with(auto good, std::size_t most_words) const {
    const auto words = static_cast<std::uint32_t>(slab_->words());
    for (std::uint32_t i = 0; i < most_words; ++i) {
      const std::uint32_t word = (slab_->next + i) % words;
      for (std::uint32_t cell = word * 64; cell < std::min<std::size_t>(free_.size(), word * 64 + 64); ++cell)
        if (good(cell)) return word;
    }
    return none;
  }

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
        const auto got =
            random() % 2 == 0 ? s.take(1 + random() % 80) : s.take_run(1 + random() % 64, 1 + random() % 9);
        taken.insert(taken.end(), got.begin(), got.end());
      } else if (!taken.empty()) {
        std::swap(taken[random() % taken.size()], taken.back());
        s.set_free(taken.back());
        taken.pop_back();
      }
      ASSERT_NO_FATAL_FAILURE(s.expect_same());
    }
  }
}

TEST(slab, goes_round_so_that_words_may_gather) {
  modelled_slab s(128);
  const std::uint32_t first = s.take(64).front();
  s.set_free(first);
  EXPECT_EQ(s.take(1).front(), first);  // the same word has a free cell again
  s.set_free(first);
  EXPECT_EQ(s.take(64).front(), first);
  EXPECT_EQ(s.take(64).size(), 64u);
  s.set_free(3), s.set_free(70);
  EXPECT_EQ(s.take(64).front(), 70u);  // the current word first, then round-robin
  EXPECT_EQ(s.take(64).front(), 3u);
}

TEST(slab, the_invariant_sees_wrong_counts_words_and_bits) {
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
  real.next = 2;  // there are two words
  EXPECT_FALSE(real.invariant());
}

}  // namespace
