// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files mapped into the process, so that stacks can be given names later, on another machine if need be.
#pragma once

namespace ashlar::recorder {

/// Effects: where stacks are recorded, writes the modules that were loaded since the last time.
void write_modules() noexcept;

/// Effects: in a forked child: forgets what has been written.
void reset_modules() noexcept;

}  // namespace ashlar::recorder
