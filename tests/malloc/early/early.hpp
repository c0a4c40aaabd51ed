// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of this program that runs before main and after exit, and its counts.
#pragma once

#include <atomic>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {

constexpr int exit_handlers = 70;
constexpr int fork_handlers = 60;  // glibc's list of them grows by malloc from the 49th on

/// Shared with all children, so that a parent counts what ran in a child.
struct counts {
  std::atomic<int> exits;
  std::atomic<int> quick_exits;
  std::atomic<int> static_destructors;
  std::atomic<int> thread_local_destructors;
  std::atomic<int> before_forks;
  std::atomic<int> in_parents;
  std::atomic<int> in_children;
};
counts& counted();

/// Effects: a block from each function of the family, of each kind of size; ends the process if one is wrong.
void use_malloc();

/// Effects: registers `exit_handlers` handlers of exit and of quick_exit that allocate.
void register_exit_handlers();

/// Effects: registers a third of the `fork_handlers` that allocate, before every constructor.
void register_first_fork_handlers();
/// Effects: registers the others, from a constructor.
void register_other_fork_handlers();

}  // namespace malloc_rules
