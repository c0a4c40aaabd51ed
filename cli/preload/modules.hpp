// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files mapped into the process, so that stacks can be named later, even on another machine.
#pragma once

namespace ashlar::recorder {

/// Effects: lists the modules of the program's start, for children that fork before the first write.
void prepare_modules() noexcept;

/// Effects: if stacks are recorded, writes the modules that were loaded or unloaded since the last call. Later stacks
/// through unloaded code are new ones.
void write_modules() noexcept;

/// As `write_modules`, before and after a module may go: waits for another thread that writes them, for at most a tenth
/// of a second.
void write_modules_patiently() noexcept;

/// Effects: before a fork: keeps other threads from listing modules, for at most a tenth of a second.
void hold_modules() noexcept;
/// Effects: after a fork, in the parent: lets them list again.
void release_modules() noexcept;

/// Effects: in a forked child: forgets the written modules. If `locks_are_orphaned`, a thread that the child lacks may
/// hold the loader's lock forever: the child then writes the parent's list and never calls the loader.
void reset_modules(bool locks_are_orphaned) noexcept;

}  // namespace ashlar::recorder
