// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports of misuse of guarded blocks, with the stacks of their allocation and their free.
#pragma once

#include <ashlar/base/error.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/guard_pool.hpp"

namespace ashlar::drop_in {

/// A wrong use of an address in the pool.
struct guarded_misuse {
  fault kind = fault::invalid_free;
  guarded_use use = guarded_use::frees;
  guarded_block block = {};  ///< as the use has found it; unused: none has the address
  const void* p = nullptr;
  const call_stack* stack = nullptr;  ///< of the use
};

/// Effects: writes the stacks to standard error, then reports as every other misuse.
[[noreturn]] void report_misuse(const guarded_misuse& found) noexcept;

/// Effects: from now on SIGSEGV in the pool is reported; then, and for all others, the former handler is called, or the
/// default one ends the process.
void report_guarded_faults() noexcept;

}  // namespace ashlar::drop_in
