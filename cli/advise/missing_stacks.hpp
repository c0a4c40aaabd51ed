// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sentence on allocations that belong to no call site.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::cli {

/// The allocations of all traces.
struct stack_counts {
  std::vector<std::string> unasked = {};  ///< Traces that were recorded without stacks.
  bool is_table_full = false;             ///< A trace has as many stacks as a recorder keeps.
  std::uint64_t without = 0;              ///< Allocations without a stack.
  std::uint64_t allocations = 0;
};

/// Returns: how many allocations have no call stack, why, and what follows; empty if these are less than one in a
/// hundred: the start of a thread may have none.
[[nodiscard]] std::string missing_stacks(const stack_counts& counts);

}  // namespace ashlar::cli
