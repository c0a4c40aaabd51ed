// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stops the optimiser from deleting, or from knowing the outcome of, the work that is being measured.
#pragma once

namespace bench {

// The compiler must assume that somebody else reads and writes what `p` points to, and all memory reachable from it.
inline void escape(void* p) noexcept { asm volatile("" : : "g"(p) : "memory"); }

}  // namespace bench
