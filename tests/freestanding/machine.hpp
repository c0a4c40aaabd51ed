// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a program without an operating system. Each program defines `run`.
#pragma once

namespace machine {

/// Effects: ends the program; 0 means success.
[[noreturn]] void leave(int status) noexcept;

/// Effects: ends the program unless the condition holds; the status is the number of the expectation.
inline void expect(bool condition) noexcept {
  static int expectation = 0;
  ++expectation;
  if (!condition) leave(expectation);
}

/// Returns: the number of calls of `ashlar_write_error`.
int lines_written() noexcept;

}  // namespace machine

/// The program.
void run() noexcept;
