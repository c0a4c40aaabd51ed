// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers what runs in a forked child and at a quick exit, with whichever C library the program has.
#pragma once

namespace ashlar::recorder {

using hook = void (*)() noexcept;

/// Effects: `child` runs in every forked child, where the C library has a way to register that.
void on_fork_run(hook child) noexcept;

/// Effects: `end` runs at `quick_exit`, likewise.
void on_quick_exit_run(hook end) noexcept;

}  // namespace ashlar::recorder
