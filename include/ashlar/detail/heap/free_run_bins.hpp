// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bins of free runs: recently freed blocks of whole slices, by length, kept whole for the next ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bitmap.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A LIFO list for each length, of `Span` headers, and a bit for each list that is not empty.
/// Thread safety: none, but for `slices` and `taken_slices`. Never allocates.
template <class Span>
class free_run_bins {
public:
  /// Effects: adds a run. Expects: its span header holds the length; it is free.
  void put(Span& run) noexcept {
    run.is_available = true;
    run.next = tops_[run.length];
    tops_[run.length] = &run;
    lengths_ |= bit_word{1} << run.length;
    count(run.length);
  }

  /// Returns: the latest of the shortest runs of `length` to `length + longer` slices, removed, or null.
  [[nodiscard]] ASHLAR_INLINE Span* take(std::size_t length, std::size_t longer) noexcept {
    const bit_word fit = lengths_ >> length;
    if (ASHLAR_UNLIKELY(fit == 0 || first_bit(fit) > longer)) return nullptr;
    const std::size_t found = length + first_bit(fit);
    Span* const run = tops_[found];
    tops_[found] = run->next;
    lengths_ ^= bit_word{run->next == nullptr} << found;
    count(std::size_t{0} - found);
    taken_slices_.store(taken_slices() + found, memory_order_relaxed);
    run->is_available = false;
    return run;
  }

  /// Effects: empties the bins. Calls `f(run)` for each.
  template <class F>
  void clear(F f) noexcept {
    slices_.store(0, memory_order_relaxed);
    for (bit_word left = std::exchange(lengths_, 0); left != 0; left = without_first(left))
      for (Span* next = std::exchange(tops_[first_bit(left)], nullptr); next != nullptr;) {
        Span& run = *std::exchange(next, next->next);
        run.is_available = false;
        f(run);
      }
  }

  /// Effects: calls `f(run)` for each.
  template <class F>
  void for_each(F f) const noexcept {
    for (Span* run : tops_)
      for (; run != nullptr; run = run->next) f(*run);
  }

  /// Effects: forgets all runs, but not the count of those removed.
  void forget() noexcept {
    tops_ = {};
    lengths_ = 0;
    slices_.store(0, memory_order_relaxed);
  }

  /// Returns: slices of the runs. Thread safety: any thread.
  [[nodiscard]] std::size_t slices() const noexcept { return slices_.load(memory_order_relaxed); }
  /// Returns: slices removed since the bins were made. Thread safety: any thread.
  [[nodiscard]] std::uint64_t taken_slices() const noexcept { return taken_slices_.load(memory_order_relaxed); }

  /// Complexity: O(runs).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t held = 0;
    bool right = true;
    for (std::size_t length = 0; length < tops_.size(); ++length) {
      right = right && (tops_[length] != nullptr) == ((lengths_ >> length & 1) != 0);
      for (const Span* run = tops_[length]; run != nullptr; run = run->next, held += length)
        right = right && run->length == length && run->is_available;
    }
    return right && held == slices();
  }

private:
  // Only the owner writes.
  ASHLAR_INLINE void count(std::size_t more) noexcept { slices_.store(slices() + more, memory_order_relaxed); }

  std::array<Span*, 8 * sizeof(bit_word)> tops_ = {};
  bit_word lengths_ = 0;
  atomic<std::size_t> slices_ = 0;
  atomic<std::uint64_t> taken_slices_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
