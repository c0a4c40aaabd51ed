// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call sites of a trace against an earlier one, which may be of another build: those that came, went, grew, shrank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ashlar/study/summary.hpp>

namespace ashlar::cli {

struct report_data;

/// A call site in two traces, with all its callers.
struct site_change {
  std::string before, after;  ///< "function (file:line)"; empty: it is not there.
  study::site_summary was, is;

  /// Returns: "came", "went", "grew" or "shrank", by its bytes, else its objects, else bytes never freed; empty if all
  /// of these are equal.
  [[nodiscard]] std::string_view word() const noexcept;
};

struct trace_diff {
  std::string path;                ///< Of the earlier trace.
  std::vector<std::string> notes;  ///< About it.
  study::amount allocated, peak, live;
  std::vector<site_change> changes;  ///< The greatest difference in bytes first.
  std::size_t equal = 0;             ///< Sites.
};

/// Returns: the sites, matched by function and line; those without a match by function alone, in the order of their
/// lines, which move between builds.
[[nodiscard]] trace_diff diff_of(const report_data& before, const report_data& after);

[[nodiscard]] std::string diff_text(const trace_diff& diff, const report_data& after);
[[nodiscard]] nlohmann::json diff_json(const trace_diff& diff);

}  // namespace ashlar::cli
