// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plots of a report: bars, tails, columns and an area over time.
#pragma once

#include <string>
#include <vector>

#include <ashlar/study/timeline.hpp>

#include "cli/html/scale.hpp"
#include "cli/replay/figures.hpp"
#include "cli/report/data.hpp"

namespace ashlar::cli {

/// A row of a bar chart; `style` is its CSS class.
struct bar_row {
  std::string name;
  std::string style;
  spread value;
};

inline constexpr std::size_t bar_name_columns = 18;

/// Returns: horizontal bars of the medians with whiskers from the least to the greatest. Longer names are shortened.
[[nodiscard]] std::string bar_chart(const std::string& title, const std::string& axis, quantity q,
                                    const std::vector<bar_row>& rows, std::size_t name_columns = bar_name_columns);

struct tail_row {
  std::string name;
  std::string style;
  latency_spread calls;
};

/// Returns: p50 to max of each row on one logarithmic axis; values below `step_ns` are drawn at it.
[[nodiscard]] std::string tail_chart(const std::vector<tail_row>& rows, double step_ns);

/// Returns: a histogram with columns of height `weight`.
[[nodiscard]] std::string column_chart(const std::string& title, const std::string& x_axis, quantity x,
                                       const std::string& y_axis, quantity y, const std::vector<histogram_row>& rows,
                                       double (*weight)(const histogram_row&));

/// Returns: the value over time: the least and the greatest of each interval.
[[nodiscard]] std::string area_chart(const std::string& title, const study::timeline& line, double duration_ns);

}  // namespace ashlar::cli
