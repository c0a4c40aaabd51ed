// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A log-linear histogram: counts 64-bit values in constant space, within a stated relative error.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// Counts values in buckets with a width that doubles every `2^SubBits` buckets. Below `2^SubBits` each value has its
/// own bucket; above, a bucket is at most `1 / 2^SubBits` of its values wide.
///
///     SubBits = 2:   0 1 2 3 | 4 5 6 7 | 8- 10- 12- 14- | 16-  20-  24-  28- | 32- ...
///
/// Thread safety: one thread at a time; merge the histograms of several.
template <unsigned SubBits>
class histogram {
  static_assert(SubBits < 16, "a histogram of 2^16 buckets a doubling is a table of counts");

public:
  static constexpr std::size_t buckets = std::size_t{65 - SubBits} << SubBits;

  /// Returns: the bucket of `value`; buckets have the order of their values.
  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    const unsigned width = static_cast<unsigned>(std::bit_width(value));
    if (width <= SubBits) return static_cast<std::size_t>(value);
    const unsigned shift = width - 1 - SubBits;
    return (std::size_t{shift} << SubBits) + static_cast<std::size_t>(value >> shift);
  }
  /// Returns: the smallest value of the bucket.
  [[nodiscard]] static constexpr std::uint64_t lower(std::size_t bucket) noexcept {
    const std::size_t row = bucket >> SubBits;
    if (row == 0) return bucket;
    return static_cast<std::uint64_t>(bucket - ((row - 1) << SubBits)) << (row - 1);
  }
  /// Returns: the largest value of the bucket.
  [[nodiscard]] static constexpr std::uint64_t upper(std::size_t bucket) noexcept {
    return bucket + 1 == buckets ? ~std::uint64_t{0} : lower(bucket + 1) - 1;
  }

  void record(std::uint64_t value, std::uint64_t times = 1) noexcept {
    counts_[bucket_of(value)] += times;
    count_ += times;
    sum_ += static_cast<double>(value) * static_cast<double>(times);
    max_ = std::max(max_, value);
  }

  void merge(const histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  /// Returns: the upper bound of the smallest bucket with at least `q * count()` values up to it, the maximum at most;
  /// 0 if the histogram is empty. Complexity: O(buckets).
  [[nodiscard]] std::uint64_t quantile(double q) const noexcept {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
      seen += counts_[i];
      if (seen != 0 && static_cast<double>(seen) >= q * static_cast<double>(count_)) return std::min(upper(i), max_);
    }
    return max_;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  [[nodiscard]] double sum() const noexcept { return sum_; }

  /// Effects: calls `f(lower, upper, count)` for each bucket with a count, in order.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t i = 0; i < buckets; ++i)
      if (counts_[i] != 0) f(lower(i), upper(i), counts_[i]);
  }

private:
  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

/// Powers of two, for tables that people read: 0, 1, 2-3, 4-7, ...
using coarse_histogram = histogram<0>;
/// Exact to 3.2 %, for latencies.
using fine_histogram = histogram<5>;

}  // namespace ashlar::ASHLAR_ABI::study
