// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The model of a heap: the live blocks and their contents, computed from a seed and not stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <source_location>

#include <ashlar/base/bits.hpp>

namespace ashlar_test {

/// The source of a model's decisions: the bytes of a fuzzer until they end, or an endless generator.
class decisions {
public:
  decisions(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  explicit decisions(std::uint64_t seed) : state_(seed * 2 + 1), is_endless_(true) {}

  [[nodiscard]] bool is_endless() const { return is_endless_; }
  [[nodiscard]] bool is_over() const { return !is_endless_ && at_ == end_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }  ///< the number of decisions

  /// Returns: a number below `n`. Expects: `0 < n < 2^32`.
  [[nodiscard]] std::size_t below(std::size_t n) {
    ++taken_;
    if (is_endless_) return static_cast<std::size_t>((drawn() * n) >> 32);
    std::size_t number = 0;
    for (std::size_t range = 1; range < n; range *= 256) number = number * 256 + (is_over() ? 0u : *at_++);
    return number % n;
  }

  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == n - 1; }

private:
  // SplitMix64 (Steele, Lea and Flood, 2014), the upper half.
  [[nodiscard]] std::uint64_t drawn() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) >> 32;
  }

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  std::uint64_t state_ = 0;
  std::uint64_t taken_ = 0;
  bool is_endless_ = false;
};

/// Effects: ends the process and prints the place, unless `condition` holds.
inline void require(bool condition, const std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: the heap and its shadow differ\n", where.file_name(), where.line());
  std::abort();
}

/// One live block. All bytes up to `filled` hold the pattern of its seed. A large block has the pattern at its ends
/// only, unless it is `whole`, since untouched pages cost nothing.
struct shadow_block {
  static constexpr std::size_t end = 512;  // bytes of an end

  std::byte* p = nullptr;
  std::size_t bytes = 0;   ///< requested
  std::size_t most = 0;    ///< a sized free gives any size from `bytes` to this
  std::size_t filled = 0;  ///< `bytes`, or all usable bytes
  std::size_t alignment = 0;
  std::uint32_t seed = 0;
  std::uint32_t fixed = 0;  ///< number of the compile-time size of its allocation, from 1
  bool whole = false;

  void fill() const {
    for_each_part(filled, [this](std::size_t from, std::size_t to) { write(from, to); });
  }

  /// Returns: whether the filled bytes below `limit` are unchanged at their new address `at`.
  [[nodiscard]] bool is_intact(const std::byte* at, std::size_t limit) const {
    bool right = true;
    for_each_part(std::min(filled, limit),
                  [&](std::size_t from, std::size_t to) { right = right && holds(at, from, to); });
    return right;
  }
  [[nodiscard]] bool is_intact() const { return is_intact(p, filled); }

private:
  using word = std::uint64_t;

  template <class F>
  void for_each_part(std::size_t limit, F f) const {
    if (whole || filled <= 2 * end) return f(0, limit);
    f(0, std::min(end, limit));
    const std::size_t tail = ashlar::detail::align_down(filled - end, sizeof(word));
    if (tail < limit) f(tail, limit);
  }

  [[nodiscard]] word word_at(std::size_t i) const {
    return seed * word{0x9E3779B97F4A7C15} + i * word{0xD1B54A32D192ED03};
  }

  void write(std::size_t from, std::size_t to) const {
    const std::size_t whole_words = to / sizeof(word);
    for (std::size_t i = from / sizeof(word); i < whole_words; ++i) {
      const word each = word_at(i);
      std::memcpy(p + i * sizeof(word), &each, sizeof each);
    }
    const word last = word_at(whole_words);
    std::memcpy(p + whole_words * sizeof(word), &last, to % sizeof(word));
  }

  // Compares all words, so that compilers vectorise the loop.
  [[nodiscard]] bool holds(const std::byte* at, std::size_t from, std::size_t to) const {
    const std::size_t whole_words = to / sizeof(word);
    word wrong = 0;
    for (std::size_t i = from / sizeof(word); i < whole_words; ++i) {
      word found;
      std::memcpy(&found, at + i * sizeof(word), sizeof found);
      wrong |= found ^ word_at(i);
    }
    const word last = word_at(whole_words);
    return wrong == 0 && std::memcmp(at + whole_words * sizeof(word), &last, to % sizeof(word)) == 0;
  }
};

/// Returns: whether bytes are zero: all of a small block; of a large one its ends and a byte of each page.
[[nodiscard]] inline bool is_zero(const std::byte* p, std::size_t bytes) {
  const auto all = [p](std::size_t from, std::size_t to) {
    return std::all_of(p + from, p + to, [](std::byte each) { return each == std::byte{0}; });
  };
  if (bytes <= 65536) return all(0, bytes);
  for (std::size_t at = 0; at < bytes; at += 4096)
    if (p[at] != std::byte{0}) return false;
  return all(0, 4096) && all(bytes - 4096, bytes);
}

}  // namespace ashlar_test
