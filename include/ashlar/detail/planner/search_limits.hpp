// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ends of a search: its budget of nodes and time, a verdict, or a state that has failed before.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// Offsets and sizes in units; signed, so that differences need no care.
using units = std::int64_t;

/// Above every offset; twice this value still fits.
inline constexpr units beyond = units{1} << 61;

/// The result of a search.
enum class verdict {
  fits,      ///< The search holds the offsets.
  fails,     ///< Everything was tried.
  undecided  ///< The budget ended.
};

/// Counts nodes, and reads the clock at intervals.
class budget {
public:
  using clock = std::chrono::steady_clock;

  explicit budget(std::uint64_t nodes, clock::time_point until = clock::time_point::max(),
                  const std::atomic<bool>* stop = nullptr) noexcept
      : nodes_(nodes), until_(until), stop_(stop) {}

  /// Effects: counts `count` nodes. Returns: whether the budget lasts.
  [[nodiscard]] bool spend(std::uint64_t count = 1) noexcept {
    if (spent_ >= nodes_) return false;
    const std::uint64_t before = spent_;
    spent_ += std::min(count, nodes_ - spent_);
    if (before / 64 != spent_ / 64) look();
    return !over_;
  }

  /// Effects: reads the clock and the stop flag. Returns: whether the budget is spent.
  bool exhausted() noexcept {
    look();
    return over_ || spent_ >= nodes_;
  }

  /// Returns: a part of the remaining budget, with at most `nodes` nodes.
  [[nodiscard]] budget slice(std::uint64_t nodes) const noexcept {
    return budget(std::min(nodes, nodes_ - std::min(spent_, nodes_)), until_, stop_);
  }

  /// Effects: counts the nodes that a slice has spent.
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

/// A set of keys, each a sequence of words. When `max_words` are in use it accepts no more, which makes a search slower
/// but not wrong.
class failed_states {
public:
  using key = std::vector<std::uint64_t>;

  explicit failed_states(std::size_t max_words = std::size_t{1} << 24) : slots_(1024), max_words_(max_words) {}

  [[nodiscard]] bool contains(std::uint64_t hash, const key& k) const noexcept {
    for (std::size_t s = home(hash); slots_[s].length != 0; s = (s + 1) & mask())
      if (slots_[s].hash == hash && equal(slots_[s], k)) return true;
    return false;
  }

  /// Effects: records the key. Expects: it is not empty and not contained.
  void insert(std::uint64_t hash, const key& k) {
    if (words_.size() + k.size() > max_words_) return;
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({hash, words_.size(), k.size()});
    words_.insert(words_.end(), k.begin(), k.end());
    ++count_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
  struct slot {
    std::uint64_t hash = 0;
    std::size_t first = 0;
    std::size_t length = 0;  // 0: free
  };

  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }

  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash) & mask(); }

  [[nodiscard]] bool equal(const slot& s, const key& k) const noexcept {
    return s.length == k.size() &&
           std::equal(k.begin(), k.end(), words_.begin() + static_cast<std::ptrdiff_t>(s.first));
  }

  void put(const slot& s) noexcept {
    std::size_t at = home(s.hash);
    while (slots_[at].length != 0) at = (at + 1) & mask();
    slots_[at] = s;
  }

  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old)
      if (s.length != 0) put(s);
  }

  std::vector<slot> slots_;
  std::vector<std::uint64_t> words_;
  std::size_t count_ = 0;
  std::size_t max_words_;
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
