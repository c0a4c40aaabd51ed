// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The call sites of a trace: stacks are named, equal ones are merged, the heaviest are kept.
#pragma once

#include "cli/report/data.hpp"

namespace ashlar::cli {

/// Effects: fills the lists of call sites in `data`.
void add_call_sites(report_data& data, const trace_input& input);

}  // namespace ashlar::cli
