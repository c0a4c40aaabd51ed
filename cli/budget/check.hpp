// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Holds the summary of a trace to limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/base/trace_tables.hpp>
#include <ashlar/study/summary.hpp>

#include "cli/budget/limits.hpp"

namespace ashlar::cli {

/// A limit, and the figure of the trace.
struct checked_limit {
  limit allowed;
  std::optional<std::uint64_t> found;  ///< None: the trace has no such span or thread, so that nothing was held to it.

  [[nodiscard]] bool is_kept() const noexcept { return found && *found <= allowed.most; }
};

/// Returns: each limit with the greatest figure of its subjects: a limit holds for each thread of the name, and for
/// each span but in `count`.
[[nodiscard]] std::vector<checked_limit> check_limits(const std::vector<limit>& limits, const study::trace_summary& sum,
                                                      const trace::name_table& names);

/// Returns: the counts and peaks of a trace as limits, which it keeps: of the program, and of each span and thread of a
/// name. No times, which vary.
[[nodiscard]] std::vector<limit> limits_of(const study::trace_summary& sum, const trace::name_table& names);

/// Returns: a sentence each on threads that `limits_of` has no limits of, as they have no name, and on threads of one
/// name, which share their limits.
[[nodiscard]] std::vector<std::string> notes_on_threads(const study::trace_summary& sum,
                                                        const trace::name_table& names);

/// Returns: a line for each limit, those that are exceeded marked.
[[nodiscard]] std::string limits_text(const std::vector<checked_limit>& all);

}  // namespace ashlar::cli
