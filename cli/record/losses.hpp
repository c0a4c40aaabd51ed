// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the traces of a recording lack, since their processes ended without a chance to write.
#pragma once

#include <string>
#include <vector>

#include "cli/record/child.hpp"
#include "cli/record/status.hpp"
#include "cli/record/summary.hpp"

namespace ashlar::cli {

struct recording_losses {
  std::string text;        ///< Each process and what it lacks; empty if there are none.
  bool is_untold = false;  ///< A process has ended, and not the recorded one by a signal, as its status tells.
};

/// Returns: the losses of the processes that have not finished; `path` is that of the recorded program's trace.
[[nodiscard]] recording_losses find_losses(const std::vector<record_status::unfinished>& processes,
                                           const child_result& program, const std::string& path,
                                           const recording_summary& sum);

}  // namespace ashlar::cli
