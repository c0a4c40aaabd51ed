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
/// Thread safety: none, but for `taken_slices`. Never allocates.
template <class Span>
class free_run_bins {
public:
  /// Effects: adds a run. Expects: its span header holds the length; it is free.
  void put(Span& run) noexcept {
    run.is_available = true;
    run.next = tops_[run.length];
    tops_[run.length] = &run;
    lengths_ |= bit_word{1} << run.length;
    put_slices_ += run.length;
  }

  /// Returns: the latest of the shortest runs of `length` to `length + longer` slices, removed, or null.
  [[nodiscard]] ASHLAR_INLINE Span* take(std::size_t length, std::size_t longer) noexcept {
    const bit_word fit = (lengths_ >> length) & ((bit_word{2} << longer) - 1);
    if (fit == 0) return nullptr;
    const std::size_t found = length + first_bit(fit);
    Span* const run = tops_[found];
    tops_[found] = run->next;
    lengths_ &= ~(bit_word{run->next == nullptr} << found);
    taken_slices_.store(taken_slices() + found, memory_order_relaxed);
    run->is_available = false;
    return run;
  }

  /// Effects: empties the bins. Calls `f(run)` for each.
  template <class F>
  void clear(F f) noexcept {
    lengths_ = 0;
    put_slices_ = taken_slices();
    for (Span*& top : tops_)
      while (top != nullptr) {
        Span& run = *std::exchange(top, top->next);
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
    put_slices_ = taken_slices();
  }

  [[nodiscard]] std::size_t slices() const noexcept { return static_cast<std::size_t>(put_slices_ - taken_slices()); }
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
  std::array<Span*, 8 * sizeof(bit_word)> tops_ = {};
  bit_word lengths_ = 0;
  std::uint64_t put_slices_ = 0;  // the difference is present: a count of removals costs nothing
  atomic<std::uint64_t> taken_slices_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
