// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A value over time in a bounded number of points, recorded in one pass: the time scale doubles when points run out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// Least and greatest value of each of at most `max_points` equal spans of time; no peak is ever lost.
class timeline {
public:
  struct point {
    std::uint64_t time_ns;  ///< Start of the span.
    std::uint64_t least;
    std::uint64_t greatest;
  };

  /// Expects: `max_points` is even and not 0.
  explicit timeline(std::size_t max_points = 512) : max_points_(max_points) { spans_.reserve(max_points); }

  /// Effects: the value is `value` from `time_ns` on. A time before the previous one counts as that one.
  void record(std::uint64_t time_ns, std::uint64_t value) {
    while (time_ns >> width_log2_ >= max_points_) halve();
    const auto at = static_cast<std::size_t>(time_ns >> width_log2_);
    while (spans_.size() <= at) spans_.push_back({last_, last_});
    span& s = spans_.back();
    s.least = std::min(s.least, value);
    s.greatest = std::max(s.greatest, value);
    last_ = value;
  }

  [[nodiscard]] std::uint64_t span_ns() const noexcept { return std::uint64_t{1} << width_log2_; }

  [[nodiscard]] std::vector<point> points() const {
    std::vector<point> all;
    all.reserve(spans_.size());
    for (std::size_t i = 0; i < spans_.size(); ++i) all.push_back({i * span_ns(), spans_[i].least, spans_[i].greatest});
    return all;
  }

private:
  struct span {
    std::uint64_t least;
    std::uint64_t greatest;
  };

  void halve() {
    for (std::size_t i = 0; i < spans_.size(); i += 2) {
      const span& a = spans_[i];
      const span& b = i + 1 < spans_.size() ? spans_[i + 1] : a;
      spans_[i / 2] = {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
    }
    spans_.resize((spans_.size() + 1) / 2, span{});
    ++width_log2_;
  }

  std::size_t max_points_;
  unsigned width_log2_ = 10;  // of a span, in nanoseconds
  std::uint64_t last_ = 0;
  std::vector<span> spans_;
};

}  // namespace ashlar::ASHLAR_ABI::study
