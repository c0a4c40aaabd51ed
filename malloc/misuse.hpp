// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a program that misuses its heap.
#pragma once

namespace ashlar::drop_in {

/// Effects: chooses between `abort`, which leaves a core file, and `_exit(134)`.
void end_misuse_by(bool aborts) noexcept;

}  // namespace ashlar::drop_in
