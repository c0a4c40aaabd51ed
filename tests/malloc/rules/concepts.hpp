// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The concepts of the rules of malloc: each is a file of this folder, with a table.
#pragma once

#include <span>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {

std::span<const rule> rules_of_alignment();
std::span<const rule> rules_of_errno();
std::span<const rule> rules_of_exhaustion();
std::span<const rule> rules_of_fork();
std::span<const rule> rules_of_libc();
std::span<const rule> rules_of_loading();
std::span<const rule> rules_of_new();
std::span<const rule> rules_of_new_handlers();
std::span<const rule> rules_of_overflow();
std::span<const rule> rules_of_realloc();
std::span<const rule> rules_of_reports();
std::span<const rule> rules_of_thread_ends();
std::span<const rule> rules_of_threads();
std::span<const rule> rules_of_usable_size();
std::span<const rule> rules_of_zero();
std::span<const rule> rules_of_zero_size();

}  // namespace malloc_rules
