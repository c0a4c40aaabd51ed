// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of the rules of malloc.
#include <span>

#include "tests/malloc/rule.hpp"
#include "tests/malloc/rules/concepts.hpp"

std::span<const std::span<const malloc_rules::rule>> malloc_rules::table() {
  static const std::span<const rule> concepts[] = {
      rules_of_alignment(), rules_of_usable_size(), rules_of_errno(),      rules_of_overflow(), rules_of_zero(),
      rules_of_zero_size(), rules_of_realloc(),     rules_of_exhaustion(), rules_of_new(),      rules_of_new_handlers(),
      rules_of_threads(),   rules_of_thread_ends(), rules_of_fork(),       rules_of_libc(),     rules_of_reports(),
#if !defined(ASHLAR_STATIC)
      rules_of_loading(),
#endif
  };
  return concepts;
}
