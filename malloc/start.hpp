// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The start of libashlar, and what it installs.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::drop_in {

/// Effects: installs the handlers of forks and opens the fast paths, once. The first constructor calls it, in a static
/// program an entry before all constructors.
ASHLAR_OF_THIS_LIBRARY void start() noexcept;

/// Effects: chooses between `abort`, which leaves a core file, and `_exit(134)`.
void end_misuse_by(bool aborts) noexcept;

/// `fork` of glibc takes that lock after all handlers, and so would wait for it with the locks of the heap, for which a
/// thread may wait that is in its way:
///
///     fflush(NULL): list of streams -> stream
///     getline:                         stream -> heap
///     fork:         list of streams --handlers-> heap
///
/// The lock is recursive. A process of one thread takes none, as in glibc.
/// Effects: installs the handlers, once. The handlers of the heap are installed before: then they run inside of these.
ASHLAR_OF_THIS_LIBRARY void hold_streams_over_forks() noexcept;

}  // namespace ashlar::drop_in
