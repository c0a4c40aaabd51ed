// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bits in words of 64 and in bitmaps of them: the only loops over bits; and batches of cells of one word.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One word of a bitmap, such as the free cells of a slab or the free slices of a segment.
using bit_word = std::uint64_t;
inline constexpr std::size_t bits_per_word = 64;

/// Returns: the index of the lowest one. Expects: `word` is not 0.
template <class Word>
[[nodiscard]] ASHLAR_INLINE constexpr std::size_t first_bit(Word word) noexcept {
  return static_cast<std::size_t>(std::countr_zero(word));
}

/// Returns: `word` without its lowest one.
[[nodiscard]] ASHLAR_INLINE constexpr bit_word without_first(bit_word word) noexcept { return word & (word - 1); }

/// Returns: the index of a one that `random` chooses: the first one from a place on that is below the last one, so that
/// few cells have the same chances as many. Expects: `word` is not 0.
[[nodiscard]] ASHLAR_INLINE constexpr std::size_t any_bit(bit_word word, std::uint64_t random) noexcept {
  ASHLAR_ASSUME(word != 0);  // else each of the two searches has a branch for it
  const auto width = static_cast<std::size_t>(std::bit_width(word));
  const auto from = static_cast<std::size_t>(random % bits_per_word * width / bits_per_word);
  const bit_word rest = word >> from;
  ASHLAR_ASSUME(rest != 0);
  return first_bit(rest) + from;
}

/// Returns: the number of ones.
[[nodiscard]] ASHLAR_INLINE constexpr std::size_t count_bits(bit_word word) noexcept {
  return static_cast<std::size_t>(std::popcount(word));
}

/// Returns: the bit of an index in its word.
[[nodiscard]] ASHLAR_INLINE constexpr bit_word bit_of(std::size_t index) noexcept {
  return bit_word{1} << (index % bits_per_word);
}

/// Returns: `length` ones from bit `first` on. Expects: `1 <= length`, `first + length <= 64`.
[[nodiscard]] constexpr bit_word ones(std::size_t first, std::size_t length) noexcept {
  return (~bit_word{0} >> (bits_per_word - length)) << first;
}

/// Returns: the lowest `most` ones of `word`, or all. Complexity: O(most).
[[nodiscard]] constexpr bit_word first_bits(bit_word word, std::size_t most) noexcept {
  if (most >= bits_per_word) return word;
  bit_word rest = word;
  for (; most != 0 && rest != 0; --most) rest = without_first(rest);
  return word & ~rest;
}

/// Effects: calls `f(index)` for each one, the lowest first.
template <class F>
ASHLAR_INLINE constexpr void for_each_bit(bit_word word, F f) {
  for (; word != 0; word = without_first(word)) f(first_bit(word));
}

/// Returns: the starts of runs of at least `length` ones in `word`. Expects: `1 <= length <= 64`.
/// Complexity: O(log length).
[[nodiscard]] constexpr bit_word starts_of_runs(bit_word word, std::size_t length) noexcept {
  std::size_t known = 1;  // each bit left in `word` starts a run of at least `known` ones
  for (; known * 2 <= length; known *= 2) word &= word >> known;
  return word & (word >> (length - known));
}

/// Returns: the bits with an index that is a multiple of `step`. Expects: `step` is a power of two.
[[nodiscard]] constexpr bit_word multiples_of(std::size_t step) noexcept {
  return step >= bits_per_word ? 1 : ~bit_word{0} / ones(0, step);
}

/// Returns: the length of the run of ones around bit `at`. Expects: that bit is set.
[[nodiscard]] constexpr std::size_t run_around(bit_word word, std::size_t at) noexcept {
  return static_cast<std::size_t>(std::countr_one(word >> at) + std::countl_one(word << (63 - at)) - 1);
}

/// Returns: the number of ones in a row from bit `at` on; 0 if that bit is clear.
[[nodiscard]] constexpr std::size_t run_from(bit_word word, std::size_t at) noexcept {
  return at >= bits_per_word ? 0 : static_cast<std::size_t>(std::countr_one(word >> at));
}

/// Returns: the number of ones in a row up to bit `end`, which is left out. Expects: `end` is not 0.
[[nodiscard]] constexpr std::size_t run_until(bit_word word, std::size_t end) noexcept {
  return static_cast<std::size_t>(std::countl_one(word << (bits_per_word - end)));
}

/// Effects: calls `f(first, length)` for each maximal run of ones, the lowest first.
template <class F>
ASHLAR_INLINE_FOR_SIZE constexpr void for_each_run(bit_word word, F f) {
  while (word != 0) {
    const std::size_t first = first_bit(word), length = run_from(word, first);
    f(first, length);
    word &= ~ones(first, length);
  }
}

/// Returns: the length of the longest run of ones.
[[nodiscard]] constexpr std::size_t longest_run_in(bit_word word) noexcept {
  std::size_t longest = 0;
  for_each_run(word, [&](std::size_t, std::size_t length) { longest = max(longest, length); });
  return longest;
}

/// A view of `bits` bits in words of memory. No bit of the last word beyond them is ever set. Complexity: O(1), or
/// O(words) for those that look at all. Thread safety: none.
template <class Word>
class basic_bitmap {
public:
  ASHLAR_INLINE constexpr basic_bitmap(Word* words, std::size_t bits) noexcept : words_(words), bits_(bits) {}

  [[nodiscard]] static constexpr std::size_t words_of(std::size_t bits) noexcept {
    return (bits + bits_per_word - 1) / bits_per_word;
  }
  [[nodiscard]] constexpr std::size_t words() const noexcept { return words_of(bits_); }
  [[nodiscard]] ASHLAR_INLINE constexpr Word& word(std::size_t index) const noexcept { return words_[index]; }
  /// Returns: a mask of the bits of a word that belong to the bitmap.
  [[nodiscard]] constexpr bit_word all_in(std::size_t word) const noexcept {
    return ones(0, min(bits_per_word, bits_ - word * bits_per_word));
  }

  [[nodiscard]] ASHLAR_INLINE constexpr bool operator[](std::size_t index) const noexcept {
    return (words_[index / bits_per_word] & bit_of(index)) != 0;
  }
  ASHLAR_INLINE constexpr void set(std::size_t index) const noexcept { words_[index / bits_per_word] |= bit_of(index); }
  ASHLAR_INLINE constexpr void clear(std::size_t index) const noexcept {
    words_[index / bits_per_word] &= ~bit_of(index);
  }
  constexpr void set_all() const noexcept {
    if (bits_ == 0) return;
    if (std::is_constant_evaluated()) fill_n(words_, words() - 1, ~bit_word{0});
    else std::memset(words_, -1, (words() - 1) * sizeof(bit_word));  // shorter than a loop, which is vectorised
    words_[words() - 1] = all_in(words() - 1);
  }

  /// Returns: the number of ones.
  [[nodiscard]] constexpr std::size_t count() const noexcept {
    std::size_t set = 0;
    for (std::size_t word = 0; word < words(); ++word) set += count_bits(words_[word]);
    return set;
  }
  /// Returns: the first one from `index` on, or the number of bits.
  [[nodiscard]] constexpr std::size_t next_set(std::size_t index) const noexcept { return next<0>(index); }
  /// Returns: the first zero from `index` on, or the number of bits.
  [[nodiscard]] constexpr std::size_t next_clear(std::size_t index) const noexcept { return next<~bit_word{0}>(index); }

  /// Effects: calls `f(index)` for each zero, in order; `f` may not change the bitmap.
  template <class F>
  ASHLAR_INLINE constexpr void for_each_clear(F f) const {
    for (std::size_t word = 0; word < words(); ++word)
      for_each_bit(all_in(word) & ~words_[word], [&](std::size_t bit) { f(word * bits_per_word + bit); });
  }
  /// Effects: calls `f(first, last)` for each maximal run of ones, `last` excluded.
  template <class F>
  ASHLAR_INLINE_FOR_SIZE constexpr void for_each_run(F f) const {
    for (std::size_t first = next_set(0); first < bits_;) {
      const std::size_t last = next_clear(first);
      f(first, last);
      first = next_set(last);
    }
  }

  /// Returns: whether no bit beyond the last is set.
  [[nodiscard]] constexpr bool invariant() const noexcept {
    return bits_ == 0 || (words_[words() - 1] & ~all_in(words() - 1)) == 0;
  }

private:
  // Returns: the first bit from `index` on that differs from the bits of `Same`, or the number of bits.
  template <bit_word Same>
  [[nodiscard]] constexpr std::size_t next(std::size_t index) const noexcept {
    for (std::size_t word = index / bits_per_word; index < bits_; index = ++word * bits_per_word)
      if (const bit_word such = (words_[word] ^ Same) >> (index % bits_per_word); such != 0)
        return min(index + first_bit(such), bits_);
    return bits_;
  }

  Word* words_;
  std::size_t bits_;
};
using bitmap = basic_bitmap<bit_word>;
using const_bitmap = basic_bitmap<const bit_word>;

/// Bit `i` of `mask` stands for the cell `i` cells after `base`. Thread safety: none.
struct cell_batch {
  std::byte* base = nullptr;
  std::uint64_t mask = 0;

  /// Returns: a cell, removed from the batch. The first cell comes last: in a heap it may start at a sampled address,
  /// which a program with one live block of a class should not get. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::byte* take(std::size_t cell_bytes) noexcept {
    std::byte* const cell = next(cell_bytes);
    const std::uint64_t left = rest();
    mask ^= left & (~left + 1);
    return cell;
  }

  /// Returns: the place of a cell that `random` chooses, removed from the batch. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::size_t take_any(std::uint64_t random) noexcept {
    const std::size_t place = any_bit(mask, random);
    mask ^= bit_of(place);
    return place;
  }

  /// Returns: the cell that the next `take` returns. Expects: the batch is not empty.
  [[nodiscard]] ASHLAR_INLINE std::byte* next(std::size_t cell_bytes) const noexcept {
    return base + first_bit(rest()) * cell_bytes;
  }

  /// Returns: the mask without the first cell, which comes last.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t all_but_first() const noexcept { return mask & ~std::uint64_t{1}; }

  /// Effects: prefetches the cache lines of the next `cells` cells for writing.
  /// Expects: `cells` > 0.
  ASHLAR_INLINE void fetch_ahead(std::size_t cell_bytes, int cells) const noexcept {
    std::uint64_t left = mask;
    while (left != 0) {
      ASHLAR_FETCH_TO_WRITE(base + first_bit(left) * cell_bytes);
      if (--cells == 0) break;
      left = without_first(left);
    }
  }

  /// Returns: whether a cell that starts at `p` is in the batch.
  [[nodiscard]] bool has(const void* p, std::size_t cell_bytes) const noexcept {
    const std::size_t place = (address_of(p) - address_of(base)) / cell_bytes;
    return place < 64 && ((mask >> place) & 1) != 0;
  }

private:
  // The lowest bit of the result is the next cell.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t rest() const noexcept {
    const std::uint64_t others = all_but_first();
    return others != 0 ? others : 1;
  }
};

/// Cells of one bitmap word on their way back to it: one look-up of the slab for up to 64 cells. Cells that were freed
/// one after the other are as a rule neighbours, up or down. Thread safety: none.
template <class Slab>
struct gathered_cells {
  Slab* home = nullptr;  // null: no cells
  std::uint32_t word = 0;
  std::uint32_t bytes = 0;  // of all cells of the word
  reciprocal by_cell;
  cell_batch batch;  // its base is the first cell of the word

  /// Effects: gathers a cell. Returns: false, without an effect, if the cell is of another word or gathered already:
  /// the bitmap then finds the second free.
  [[nodiscard]] ASHLAR_INLINE bool add(const void* cell) noexcept {
    const std::uintptr_t offset = address_of(cell) - address_of(batch.base);
    if (offset >= bytes) return false;
    const std::uint64_t bit = std::uint64_t{1} << by_cell.divide(static_cast<std::uint32_t>(offset));
    const bool is_new = (batch.mask & bit) == 0;
    batch.mask |= bit;
    return is_new;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
