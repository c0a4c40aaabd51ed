// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass over the events of a trace for a profile.
#pragma once

#include "cli/export/profile.hpp"

namespace ashlar::cli {

struct counted_stacks {
  std::vector<stack_amounts> sums;  ///< By id of the stack.
  std::uint64_t duration_ns = 0;
  std::uint64_t peak_ns = 0;
  std::vector<study::timeline::point> live_bytes;
};

/// Complexity: O(1) an event; memory O(live objects + threads + stacks).
[[nodiscard]] counted_stacks count_stacks(trace_input& input);

}  // namespace ashlar::cli
