// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prevents the optimiser from deleting the measured work, and from knowing its outcome.
#pragma once

namespace bench {

// The compiler must assume a read and a write of the object at `p`, and of all memory reachable from it.
inline void escape(void* p) noexcept { asm volatile("" : : "g"(p) : "memory"); }

}  // namespace bench
