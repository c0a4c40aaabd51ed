// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of the rules before main and after exit.
#include <span>

#include "tests/malloc/early/early.hpp"
#include "tests/malloc/rule.hpp"

std::span<const std::span<const malloc_rules::rule>> malloc_rules::table() {
  static const std::span<const rule> concepts[] = {rules_of_early_callers(), rules_of_exit(), rules_of_fork_handlers()};
  return concepts;
}
