// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A report of what holds the memory of a process at the limit of the option `max`.
#pragma once

#include <cstddef>

namespace ashlar::drop_in {

/// Effects: writes to the kept error stream, once, the sizes of blocks with the most live bytes, then, with a heap
/// profile, the stacks; nothing if the system has refused the request, not the limit. Allocates nothing. Expects: no
/// lock of the heap is held. Complexity: O(slices and cells on free lists).
void report_refusal(std::size_t bytes) noexcept;

}  // namespace ashlar::drop_in
