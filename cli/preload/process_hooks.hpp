// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers functions for a forked child and a quick exit, with any C library of the program.
#pragma once

namespace ashlar::recorder {

using hook = void (*)() noexcept;

/// Effects: if the C library supports it, `before` runs ahead of every fork in the forking thread, `parent` after it
/// there, and `child` in the forked child.
void on_fork_run(hook before, hook parent, hook child) noexcept;

/// Effects: `end` runs at `quick_exit`, likewise.
void on_quick_exit_run(hook end) noexcept;

}  // namespace ashlar::recorder
