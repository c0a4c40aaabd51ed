// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers what runs in a forked child and at a quick exit, with whichever C library the program has.
#pragma once

namespace ashlar::recorder {

using hook = void (*)() noexcept;

/// Effects: where the C library has a way to register that, `before` runs ahead of every fork in the thread that forks,
/// `parent` behind it there, and `child` in the forked child.
void on_fork_run(hook before, hook parent, hook child) noexcept;

/// Effects: `end` runs at `quick_exit`, likewise.
void on_quick_exit_run(hook end) noexcept;

}  // namespace ashlar::recorder
