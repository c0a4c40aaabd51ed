// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The report of a trace and of its replay as one self-contained page.
#pragma once

#include <string>

#include "cli/replay/figures.hpp"
#include "cli/replay/table.hpp"
#include "cli/report/data.hpp"

namespace ashlar::cli {

/// Returns: the page; without a replay (both null) its part about the trace only.
[[nodiscard]] std::string html_report(const replay_figures* figures, const replayed_trace* replayed,
                                      const report_data& data);

}  // namespace ashlar::cli
