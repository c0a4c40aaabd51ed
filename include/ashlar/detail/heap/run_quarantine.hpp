// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Freed blocks of slices that wait, inaccessible, before their address space serves others.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A queue of `Span` headers: the first in is the first out, once there are more than `most_runs` or more than
/// `most_slices` of address space. They hold no memory. Thread safety: none.
template <class Span>
class run_quarantine {
public:
  static constexpr std::size_t most_runs = 64;
  static constexpr std::size_t most_slices = (std::size_t{16} << 20) / slice_bytes;

  /// Effects: adds a run; calls `f(run)` for each that leaves.
  template <class F>
  void put(Span& run, F f) noexcept {
    while (count_ != 0 && (count_ == most_runs || slices_ + run.length > most_slices)) f(take());
    runs_[(first_ + count_++) % most_runs] = &run;
    slices_ += run.length;
    run.is_available = true;  // a second free is reported
  }

  /// Effects: calls `f(run)` for each, which leaves.
  template <class F>
  void clear(F f) noexcept {
    while (count_ != 0) f(take());
  }

  /// Effects: calls `f(run)` for each.
  template <class F>
  void for_each(F f) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) f(*runs_[(first_ + i) % most_runs]);
  }

  /// Effects: forgets all runs.
  void forget() noexcept { first_ = count_ = slices_ = 0; }

  [[nodiscard]] std::size_t slices() const noexcept { return slices_; }

private:
  [[nodiscard]] Span& take() noexcept {
    Span& run = *runs_[first_];
    first_ = (first_ + 1) % most_runs;
    --count_;
    slices_ -= run.length;
    run.is_available = false;
    return run;
  }

  std::array<Span*, most_runs> runs_ = {};
  std::size_t first_ = 0, count_ = 0, slices_ = 0;
};

/// None, in a heap without guards.
template <class Span>
struct no_run_quarantine {
  template <class F>
  static void put(Span&, F) noexcept {}
  template <class F>
  static void clear(F) noexcept {}
  template <class F>
  static void for_each(F) noexcept {}
  static void forget() noexcept {}
  [[nodiscard]] static std::size_t slices() noexcept { return 0; }
};

template <bool IsKept, class Span>
using run_quarantine_if = std::conditional_t<IsKept, run_quarantine<Span>, no_run_quarantine<Span>>;

}  // namespace ashlar::ASHLAR_ABI::detail
