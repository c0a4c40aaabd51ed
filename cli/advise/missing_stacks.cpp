// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names the cause: stacks that were not asked for, more than a recorder keeps, or code that it could not unwind.
#include "cli/advise/missing_stacks.hpp"

#include <fmt/format.h>

#include "cli/preload/settings.hpp"
#include "cli/support/table_units.hpp"

namespace ashlar::cli {

namespace {

std::string effect_of(const stack_counts& counts) {
  if (counts.without == counts.allocations)
    return "No allocation has a call stack, so there are no call sites to advise on";
  return fmt::format("{} of {} {}, and cannot be advised on", grouped(counts.without),
                     counted(counts.allocations, "allocation"),
                     counts.without == 1 ? "has no call stack" : "have no call stacks");
}

std::string cause_of(const stack_counts& counts) {
  if (counts.unasked.size() == 1)
    return counts.unasked.front() + " was recorded without stacks; `ashlar record --stacks 16` has them";
  if (!counts.unasked.empty())
    return counted(counts.unasked.size(), "trace was", "traces were") +
           " recorded without stacks; `ashlar record --stacks 16` has them";
  if (counts.is_table_full)
    return fmt::format("a recorder keeps {}, and the program has more",
                       counted(recorder::max_stacks, "different stack"));
  return "the recorder could not unwind the program there: before its start, or over a C library without an unwinder";
}

}  // namespace

std::string missing_stacks(const stack_counts& counts) {
  if (counts.without * 100 <= counts.allocations) return "";
  return effect_of(counts) + ": " + cause_of(counts) + ".";
}

}  // namespace ashlar::cli
