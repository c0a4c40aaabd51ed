// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From values to positions on a plot, and the marks of an axis.
#pragma once

#include <string>
#include <vector>

namespace ashlar::cli {

/// The kind of an axis's values.
enum class quantity { count, bytes, time_ns, ratio };

/// Returns: the value as a label of an axis: "0", "2.5 MiB", "10 µs".
[[nodiscard]] std::string axis_label(double value, quantity q);

class scale {
public:
  /// From 0 to a round value at or above `most`, drawn from `from` to `to`, with about `marks` marks.
  [[nodiscard]] static scale linear(double most, double from, double to, quantity q, int marks = 5);
  /// From 0 to exactly `most`.
  [[nodiscard]] static scale exact(double most, double from, double to, quantity q, int marks = 5);
  /// From the power of ten at or below `least` to the one at or above `most`.
  [[nodiscard]] static scale logarithmic(double least, double most, double from, double to);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] const std::vector<double>& marks() const noexcept { return marks_; }

private:
  bool log_ = false;
  double least_ = 0, most_ = 1, from_ = 0, to_ = 1;
  std::vector<double> marks_;
};

}  // namespace ashlar::cli
