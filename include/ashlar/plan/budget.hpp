// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long the exact search may go on: so many nodes (the same on every machine), until a moment, until told to stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// Counts nodes and looks at the clock now and then.
class budget {
public:
  using clock = std::chrono::steady_clock;

  explicit budget(std::uint64_t nodes, clock::time_point until = clock::time_point::max(),
                  const std::atomic<bool>* stop = nullptr) noexcept
      : nodes_(nodes), until_(until), stop_(stop) {}

  /// Effects: counts one node, or several if it was dear. Returns: whether it may be expanded.
  [[nodiscard]] bool spend(std::uint64_t count = 1) noexcept {
    if (spent_ >= nodes_) return false;
    const std::uint64_t before = spent_;
    spent_ += std::min(count, nodes_ - spent_);
    if (before / 64 != spent_ / 64) look();
    return !over_;
  }

  /// Effects: looks at the clock and at the stop flag. Returns: whether the budget is spent.
  bool exhausted() noexcept {
    look();
    return over_ || spent_ >= nodes_;
  }

  /// Returns: a part of what is left, with at most `nodes` nodes.
  [[nodiscard]] budget slice(std::uint64_t nodes) const noexcept {
    return budget(std::min(nodes, nodes_ - std::min(spent_, nodes_)), until_, stop_);
  }

  /// Effects: counts what a slice has spent.
  void charge(const budget& slice) noexcept {
    spent_ += slice.spent_;
    if (slice.over_) over_ = true;
  }

  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }

private:
  void look() noexcept {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) over_ = true;  // a hint; orders nothing
    if (until_ != clock::time_point::max() && clock::now() >= until_) over_ = true;
  }

  std::uint64_t nodes_;
  std::uint64_t spent_ = 0;
  clock::time_point until_;
  const std::atomic<bool>* stop_;
  bool over_ = false;
};

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
