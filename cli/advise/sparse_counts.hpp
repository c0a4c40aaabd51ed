// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A log-linear histogram that keeps only the buckets in use: thousands of call sites have one each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/study/histogram.hpp>

namespace ashlar::cli {

/// Buckets as in `study::histogram<SubBits>`. Memory: 16 bytes for each bucket with a count.
template <unsigned SubBits>
class sparse_counts {
public:
  /// Complexity: O(log buckets), O(1) for the bucket of the call before; O(buckets) for the first of a bucket.
  void record(std::uint64_t value, std::uint64_t times = 1) {
    const auto bucket = static_cast<std::uint32_t>(scale::bucket_of(value));
    count_ += times;
    max_ = std::max(max_, value);
    if (last_ >= rows_.size() || rows_[last_].first != bucket) last_ = place_of(bucket);
    rows_[last_].second += times;
  }

  void merge(const sparse_counts& other) {
    const std::uint64_t greatest = std::max(max_, other.max_);
    for (const auto& [bucket, times] : other.rows_) record(scale::lower(bucket), times);
    max_ = greatest;
  }

  /// Returns: the upper bound of the smallest bucket with at least `q * count()` values up to it, the maximum at most;
  /// 0 if there are no values.
  [[nodiscard]] std::uint64_t quantile(double q) const noexcept {
    std::uint64_t seen = 0;
    for (const auto& [bucket, times] : rows_) {
      seen += times;
      if (static_cast<double>(seen) >= q * static_cast<double>(count_)) return std::min(scale::upper(bucket), max_);
    }
    return max_;
  }

  /// Returns: the number of values in buckets that lie below `limit` as a whole.
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) const noexcept {
    std::uint64_t seen = 0;
    for (const auto& [bucket, times] : rows_)
      if (scale::upper(bucket) < limit) seen += times;
    return seen;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  /// Returns: the number of buckets in use, below 2^SubBits the number of distinct values.
  [[nodiscard]] std::size_t distinct() const noexcept { return rows_.size(); }

  /// Effects: calls `f(lower, upper, count)` for each bucket in use, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [bucket, times] : rows_) f(scale::lower(bucket), scale::upper(bucket), times);
  }

private:
  using scale = study::histogram<SubBits>;

  std::size_t place_of(std::uint32_t bucket) {
    const auto is_before = [](const auto& row, std::uint32_t b) { return row.first < b; };
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), bucket, is_before);
    const auto index = static_cast<std::size_t>(at - rows_.begin());
    if (at == rows_.end() || at->first != bucket) rows_.insert(at, {bucket, 0});
    return index;
  }

  std::vector<std::pair<std::uint32_t, std::uint64_t>> rows_;  // by bucket
  std::size_t last_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace ashlar::cli
